"""The examples of the documents: found, put among made files, and run."""
