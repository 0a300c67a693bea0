"""Masks that are hard to write: holes, parts, single pixels, every border, nothing, everything."""

import numpy as np
import numpy.typing as npt

HEIGHT, WIDTH = 45, 67  # odd, and unlike each other

Masks = npt.NDArray[np.bool_]


def hard_masks() -> Masks:
    """Six frames of two sentences, (6, 2, 45, 67); the two overlap in most frames."""
    rows, columns = np.mgrid[:HEIGHT, :WIDTH]
    masks = np.zeros((6, 2, HEIGHT, WIDTH), dtype=np.bool_)
    disc = (rows - 22) ** 2 + (columns - 30) ** 2
    masks[0, 0] = (disc < 18**2) & (disc > 9**2)  # a ring
    masks[0, 1] = disc < 12**2
    masks[1, 0, 5:20, 5:25] = masks[1, 0, 30:40, 40:60] = True  # two parts
    masks[1, 1, 0, :] = masks[1, 1, :, -1] = True  # lines along two borders
    masks[2, 0, 44, 66] = True  # one pixel, in the last corner
    masks[2, 1] = True
    masks[3, 1, 10:30, 20:50] = (rows + columns)[10:30, 20:50] % 2 == 0  # touching at corners alone
    masks[4, 0] = np.abs(columns - 20 - rows / 3) < 6
    masks[4, 1] = (disc < 20**2) & ((rows // 4 + columns // 5) % 3 > 0)
    masks[5, 0, :30, 3] = masks[5, 0, 12, 3:40] = True  # a cross of single pixels
    return masks
