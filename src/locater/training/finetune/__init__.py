"""Fine-tuning on people's own folders: the split, the settings, the one Trainer, and how much of it to take."""
