"""A report's page needs nothing but itself, and reads on a desk and on a phone, by day and by night."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from locater.report.charts import Bars, Lines
from locater.report.page import Commands, Facts, Page, Section, Text
from locater.report.pictures import MOST_WIDTH, Picture
from locater.report.tables import Table, percent

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
HOSTILE = "<script>alert(1)</script> & \"quoted\" <img src='https://example.org/x.png'>"


def page() -> Page:
    """One of everything, with names nobody should choose."""
    table = Table("Scores", ["a | b", *(f"column {number}" for number in range(14))], [[HOSTILE, *["12.34"] * 14]] * 3)
    lines = Lines(
        "IoU", "frame", {"ours": [(0, 10.0), (5, 90.0)], HOSTILE: [(0, 50.0), (5, 20.0)]}, (0, 100), {"best": 2}
    )
    return Page(
        f"Report of {HOSTILE}",
        "What it is about.",
        [
            Section("Figures", [Facts([("J&F", "73.10", "before 70.00")] * 6)]),
            Section("Charts", [lines, Bars("By kind", {"a": {"noun": 50.0, HOSTILE: 20.0}})], are_beside=True),
            Section("Table", [table, Text(HOSTILE), Commands(["locater " + "x" * 200])]),
            Section("Pictures", [Picture(Image.new("RGB", (2000, 300), (200, 40, 40)), HOSTILE)]),
            Section("Nothing", []),
        ],
    )


def test_nothing_of_the_outside_gets_in() -> None:
    text = page().html()
    assert not re.findall(r"<(?:script|link|iframe|object|embed)\b", text)
    assert not re.findall(r"""(?:src|href)=["'](?!data:)""", text)
    assert "&lt;script&gt;" in text and "default-src 'none'" in text
    assert "<h2>Nothing</h2>" not in text
    assert page().html() == text


def test_a_table_is_the_same_in_markdown_and_on_the_page() -> None:
    table = Table("T", ["", "J"], [["a | b", percent(0.5)], ["c", percent(None)]], "* a note")
    assert table.markdown() == "|  | J |\n|---|---|\n| a \\| b | 50.00 |\n| c | - |\n\n\\* a note"
    assert re.findall(r"<t[hd](?: [^>]*)?>([^<]*)<", table.html()) == ["", "J", "a | b", "50.00", "c", "-"]


def test_a_curve_goes_where_its_numbers_are() -> None:
    svg = Lines("", "", {"a": [(0, 0), (10, 100)], "b": [(0, 50), (10, 50)]}, (0.0, 100.0)).html()
    (first, second) = (
        [tuple(map(float, point.split(","))) for point in points.split()]
        for points in re.findall(r'<polyline[^>]*points="([^"]+)"', svg)
    )
    assert first[0][0] < first[1][0] and first[0][1] > first[1][1]  # up is smaller
    assert second[0][1] == second[1][1] == pytest.approx((first[0][1] + first[1][1]) / 2, abs=0.2)
    assert "a" in svg and svg.count("<li>") == 2
    assert Lines("", "", {"a": []}).html() == "" and "nan" not in Lines("", "", {"a": [(1, 5.0)]}).html()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium here; apt-get install chromium")
    with sync_api.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield opened
        opened.close()


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_it_fits_the_screen_and_asks_for_nothing(browser: Any, width: int, height: int, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(page().html(), "utf-8")
    seen: dict[str, str] = {}
    for scheme in ("light", "dark"):
        tab = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
        asked: list[str] = []
        tab.on("request", lambda request, asked=asked: asked.append(request.url))
        tab.on("dialog", lambda _: pytest.fail("a script ran"))
        tab.goto(path.as_uri())
        assert [url for url in asked if not url.startswith("data:")] == [path.as_uri()]
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert tab.evaluate("[...document.images].every(image => image.complete && image.naturalWidth > 0)")
        assert tab.evaluate("document.images[0].naturalWidth") == MOST_WIDTH
        seen[scheme] = tab.evaluate("getComputedStyle(document.body).backgroundColor")
        tab.close()
    assert seen["light"] != seen["dark"]
