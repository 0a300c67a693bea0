"""What every test shares."""

import torch

torch.set_num_threads(1)  # the tests run side by side, one process a core
