"""What stands out in a photograph: a saliency network in an ONNX file, such as U2-Netp, run by onnxruntime."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image

from locater.errors import LocaterError
from locater.worlds.composed.pack.cutouts import Pixels

Saliency = npt.NDArray[np.float32]  # (S, S) in [0, 1]

# What U2-Net and its kin were trained with: ImageNet's statistics, after division by the picture's brightest value.
_MEAN = np.array((0.485, 0.456, 0.406), dtype=np.float32)
_STD = np.array((0.229, 0.224, 0.225), dtype=np.float32)
_DEFAULT_SIDE = 320  # where the file leaves its input's side open


class SaliencyModel:
    """A network that takes (1, 3, S, S) pictures and whose first output is their (1, 1, S, S) saliency."""

    def __init__(self, path: Path) -> None:
        runtime = _onnxruntime()
        if not path.is_file():
            raise LocaterError(f"There is no file {path}; name a saliency network's ONNX file, such as u2netp.onnx.")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()  # OMP_NUM_THREADS counts, as everywhere else
        options.log_severity_level = 3
        fast = [name for name in ("CUDAExecutionProvider",) if name in runtime.get_available_providers()]
        try:
            self._session = runtime.InferenceSession(path, options, providers=[*fast, "CPUExecutionProvider"])
            self._input, self._output = self._session.get_inputs()[0], self._session.get_outputs()[0]
            channels, *sides = self._input.shape[1:]
        except Exception as error:  # onnxruntime's errors share no type
            raise LocaterError(f"{path} is no ONNX file that onnxruntime can run; download it again.") from error
        if channels != 3 or len(sides) != 2:
            raise LocaterError(f"{path} does not take pictures; name a saliency network, such as u2netp.onnx.")
        self._size = tuple(side if isinstance(side, int) else _DEFAULT_SIDE for side in sides)

    def saliency(self, picture: Pixels) -> Saliency:
        """How much each place of an (H, W, 3) picture stands out, squashed to the network's own square."""
        height, width = self._size
        small = Image.fromarray(picture).resize((width, height), Image.Resampling.BILINEAR)
        values = np.asarray(small, dtype=np.float32) / max(float(np.asarray(small).max()), 1.0)
        batch = ((values - _MEAN) / _STD).transpose(2, 0, 1)[None]
        (found,) = self._session.run([self._output.name], {self._input.name: np.ascontiguousarray(batch)})
        found = np.asarray(found, dtype=np.float32)
        if found.ndim != 4 or found.shape[:2] != (1, 1):
            raise LocaterError(
                f"This network's first output has the shape {found.shape}, not one map; name a saliency network's file."
            )
        return np.asarray(np.clip(found[0, 0], 0.0, 1.0))


def _onnxruntime() -> Any:
    try:
        import onnxruntime
    except ImportError:
        raise LocaterError(
            "Cutting things out of photographs needs onnxruntime, which is not installed; "
            "run: pip install 'locater[cutout]'."
        ) from None
    return onnxruntime
