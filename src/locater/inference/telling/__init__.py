"""What a person should know of a finished video: how each sentence was answered, and whether it fits a second thing."""
