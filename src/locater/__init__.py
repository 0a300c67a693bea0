"""Language-guided video segmentation."""
