"""The page in a real browser: from nothing to a corrected mask without a command, and nothing leaves the machine."""

import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.support.command_line.clips import DOG, OTHER
from tests.support.pages.serving import served

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = sync_api.expect
WIDE, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def url(checkpoint: Path) -> Iterator[str]:
    """The real command's page."""
    with served("web", "--no-browser", "--checkpoint", str(checkpoint), "--minutes", "1") as (process, url):
        yield url
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=30)
        assert process.returncode == 0 and not errors and "every upload was removed" in output


class Page:
    """A person at the page, and what the browser complained of or asked elsewhere."""

    def __init__(self, browser: Any, url: str, **options: Any) -> None:
        self.problems: list[str] = []
        self.asked: list[str] = []
        context = browser.new_context(**{"viewport": WIDE, "reduced_motion": "reduce", **options})
        self.page = context.new_page()
        self.page.set_default_timeout(60_000)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("console", self._heard)
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(url)
        expect(self.find("#limits")).to_have_text(re.compile("Up to 60 seconds, 512 MB"))

    def _heard(self, message: Any) -> None:
        if message.type == "error":
            self.problems.append(message.text)

    def find(self, selector: str) -> Any:
        return self.page.locator(selector)

    def upload(self, path: Path) -> None:
        self.find("#file").set_input_files(path)
        expect(self.find("#screen")).not_to_have_class(re.compile("waiting"), timeout=60_000)

    def segment(self) -> None:
        self.find("#segment").click()
        self.finished()

    def finished(self) -> None:
        expect(self.find("#status")).to_contain_text("✓", timeout=60_000)
        expect(self.find("#screen")).to_have_attribute("data-mask", re.compile(r"\d+/\d+"))

    def overlay(self) -> list[int]:
        """How many pixels of the overlay are tinted, and how many are lines."""
        counted: list[int] = self.page.evaluate(
            """() => { const canvas = document.querySelector("#overlay");
            const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            let tint = 0, line = 0;
            for (let i = 3; i < data.length; i += 4) { tint += data[i] === 107; line += data[i] === 255; }
            return [tint, line]; }"""
        )
        return counted

    def fits(self) -> bool:
        """Whether nothing lies beside the window, nor the clip's time under a button."""
        said = "document.documentElement.scrollWidth <= innerWidth && clock.scrollWidth <= clock.clientWidth"
        return bool(self.page.evaluate(said))


def test_from_nothing_to_a_corrected_mask(browser: Any, url: str, clip: Path, tmp_path: Path) -> None:
    person = Page(browser, url)
    assert "token" not in person.page.url
    person.upload(clip)
    expect(person.find("#about")).to_contain_text("clip.mp4 · 96 × 64 · 0.8 s")
    person.find("#rows input").fill(OTHER)
    person.find("#add").click()
    person.page.keyboard.type(DOG)
    person.page.keyboard.press("Enter")
    person.finished()
    expect(person.find("#clock")).to_contain_text("20/20")  # the newest mask was followed
    expect(person.find("#lines li")).to_have_count(2)
    expect(person.find("#lines li .words span")).to_have_text([*OTHER.split(), *DOG.split()])
    expect(person.find("#lines li .figures").first).to_have_text(re.compile(r"score \d\.\d\d · [\d.]+ % of the frame"))
    before = person.overlay()
    assert sum(before) > 0
    person.find("#lines li:nth-child(2) button:has-text('Correct')").click()
    box = person.find("#screen").bounding_box()
    person.page.mouse.click(box["x"] + 0.3 * box["width"], box["y"] + 0.4 * box["height"])
    person.page.mouse.click(box["x"] + 0.9 * box["width"], box["y"] + 0.9 * box["height"], button="right")
    expect(person.find("#marks .inside")).to_have_count(1)
    expect(person.find("#marks .outside")).to_have_count(1)
    person.page.screenshot(path=tmp_path / "correcting.png")
    person.find("#apply").click()
    expect(person.find("#status")).to_have_text("✓ 20 frames, corrected.", timeout=60_000)
    expect(person.find("#screen")).to_have_attribute("data-mask", "2/19")
    expect(person.find("#rows .clicks button")).to_have_text("2 clicks in frame 20 ×")
    assert person.overlay() != before  # what was clicked is marked now
    with person.page.expect_download() as download:
        person.find("#formats button[data-format=overlay]").click()
    assert download.value.suggested_filename == "overlay.mp4"
    assert Path(download.value.path()).stat().st_size > 1000
    person.page.reload()  # the clip, its masks and its clicks are still there
    person.finished()
    expect(person.find("#rows .clicks button")).to_have_count(1)
    person.find("#new").click()
    expect(person.find("#drop")).to_be_visible()
    origin = url.partition("?")[0]
    assert person.asked and all(each.startswith((origin, "data:")) for each in person.asked)
    assert not person.problems


def test_an_object_that_is_only_pointed_at(browser: Any, url: str, clip: Path) -> None:
    person = Page(browser, url, viewport=PHONE, has_touch=True, is_mobile=True)
    person.upload(clip)
    person.find("#point").tap()
    box = person.find("#screen").bounding_box()
    person.page.touchscreen.tap(box["x"] + 0.2 * box["width"], box["y"] + 0.4 * box["height"])
    expect(person.find("#marks .inside")).to_have_count(1)
    person.find("#apply").tap()
    person.finished()
    assert sum(person.overlay()) > 0 and person.fits()
    expect(person.find("#lines .words")).to_have_text("what you point at")
    assert not person.problems


def test_what_goes_wrong_is_said_on_the_page(browser: Any, url: str, clip: Path, tmp_path: Path) -> None:
    person = Page(browser, url)
    garbage = tmp_path / "holiday.mp4"
    garbage.write_bytes(b"no video at all" * 100)
    person.find("#file").set_input_files(garbage)
    expect(person.find("#alert")).to_contain_text("holiday.mp4 is not a video that FFmpeg can read")
    person.upload(clip)
    expect(person.find("#alert")).to_be_hidden()
    person.find("#segment").click()
    expect(person.find("#alert")).to_contain_text("Type a sentence first")
    person.find("#rows input").fill("the quetzal on the left")
    person.find("#segment").click()
    expect(person.find("#alert")).to_contain_text("quetzal")
    expect(person.find("#segment")).to_have_text("Segment anyway")
    person.segment()
    expect(person.find("#notices")).to_contain_text("quetzal")
    assert [each for each in person.problems if "422" not in each and "409" not in each] == []


def test_playing_and_the_keyboard(browser: Any, url: str, clip: Path) -> None:
    person = Page(browser, url)
    person.upload(clip)
    person.find("#rows input").fill(OTHER)
    person.segment()
    person.find("#main").focus()
    person.page.keyboard.press(",")
    expect(person.find("#clock")).to_contain_text("19/20")
    person.page.keyboard.press("Space")
    expect(person.find("#play")).to_contain_text("Pause")
    expect(person.find("#clock")).not_to_contain_text("19/20")
    person.page.keyboard.press("Space")
    person.page.keyboard.press("m")
    expect(person.find("#screen")).to_have_attribute("data-mask", "")
    person.page.keyboard.press("m")
    person.find("#frame").fill("12")
    expect(person.find("#screen")).to_have_attribute("data-mask", "1/12")
    person.find(".graph").click(position={"x": 5, "y": 20})
    expect(person.find("#clock")).to_contain_text("· 1/20")
    expect(person.find("#screen")).to_have_attribute("data-mask", "1/0")
    person.find("#lines .swatch").click()
    assert person.overlay() == [0, 0]
    person.find("#lines button:has-text('Correct')").click()  # the picture has the focus now
    for key in ("ArrowLeft", "Shift+ArrowUp", "Enter"):
        person.page.keyboard.press(key)
    expect(person.find("#marks .inside")).to_have_count(1)
    person.page.keyboard.press("Escape")
    expect(person.find("#marks g")).to_have_count(0)
    expect(person.find("#correcting")).to_be_hidden()
    assert not person.problems


def test_every_screen_fits_and_dark_is_dark(browser: Any, url: str, tmp_path: Path) -> None:
    for name, options in (
        ("wide", {"color_scheme": "dark"}),
        ("phone", {"viewport": PHONE, "has_touch": True, "is_mobile": True, "color_scheme": "dark"}),
    ):
        person = Page(browser, url, **options)
        assert person.fits()
        person.page.screenshot(path=tmp_path / f"{name}_empty.png")
        person.find("#example").click()
        expect(person.find("#screen")).not_to_have_class(re.compile("waiting"), timeout=60_000)
        expect(person.find("#rows input")).to_have_count(2)
        assert person.fits()
        person.page.screenshot(path=tmp_path / f"{name}.png")
        corner = Image.open(tmp_path / f"{name}.png").convert("L").getpixel((3, 3))
        assert isinstance(corner, int) and corner < 60
        person.find("#new").click()
        assert not person.problems
