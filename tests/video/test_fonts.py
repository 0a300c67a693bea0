"""A text is drawn in a font that has its letters, and what no font has is told."""

import warnings
from pathlib import Path

import pytest
from PIL import ImageFont

from locater.video import fonts
from locater.video.fonts import font_for

DEJAVU = Path("mpl-data/fonts/ttf/DejaVuSans.ttf")


@pytest.fixture(autouse=True)
def afresh() -> None:
    fonts._choice.cache_clear()
    fonts._font_files.cache_clear()


@pytest.fixture
def only_matplotlibs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fonts of a machine that has none of its own."""
    monkeypatch.setattr(fonts, "_folders", lambda: [Path(str(pytest.importorskip("matplotlib").get_data_path()))])


def test_latin_letters_need_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "_font_files", None)  # never called
    assert isinstance(font_for("the dog on the left, 12 %", 20), ImageFont.FreeTypeFont)


@pytest.mark.usefixtures("only_matplotlibs")
@pytest.mark.parametrize("text", ["собака слева", "η γάτα αριστερά"])
def test_greek_and_cyrillic_are_drawn(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        font = font_for(text, 20)
    assert isinstance(font, ImageFont.FreeTypeFont) and font.getname()[0] == "DejaVu Sans"
    shapes = {bytes(font.getmask(letter)) for letter in "собака"}
    assert len(shapes) == 5  # five different letters, no boxes


@pytest.mark.usefixtures("only_matplotlibs")
def test_letters_that_no_font_has_are_told() -> None:
    """matplotlib brings a font of last resort with a box for everything, which is no font for anything."""
    with pytest.warns(UserWarning, match=r"No font on this machine has 左 狗, so boxes stand for them"):
        font = font_for("左 狗 dog", 20)
    assert isinstance(font, ImageFont.FreeTypeFont)
