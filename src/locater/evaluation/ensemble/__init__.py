"""Several systems' answers to a dataset's questions, joined into one."""
