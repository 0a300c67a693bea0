"""What every test shares."""

import os

# The tests run side by side, one process a core; threads that wait for each other on busy cores take many times longer.
os.environ["OMP_NUM_THREADS"] = "1"  # for the commands that tests start, too

import torch

torch.set_num_threads(1)
