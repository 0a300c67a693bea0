"""The review's page in a real browser: keys, mouse, colours, and a server killed under it."""

import re
import signal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.support.pages.reviewing import decisions, reviewing

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = sync_api.expect

TABLE_1 = {  # the paper's own colours
    "Arg0": "rgb(93, 173, 85)",
    "Verb": "rgb(240, 16, 89)",
    "Arg1": "rgb(0, 114, 188)",
    "Arg2": "rgb(0, 114, 188)",
    "ARGM-LOC": "rgb(255, 128, 0)",
    "ARGM-TMP": "rgb(128, 0, 128)",
}


@pytest.fixture
def problems() -> list[str]:
    """What pages complained of."""
    return []


def open_page(browser: Any, url: str, problems: list[str], **options: Any) -> Any:
    context = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce", **options)
    page = context.new_page()
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on(
        "request",
        lambda asked: None if asked.url.startswith((url.partition("?")[0], "data:")) else problems.append(asked.url),
    )
    page.goto(url)
    expect(page.locator("#place")).to_have_text(re.compile("Pair"))
    return page


def test_a_review_from_the_keyboard_alone(browser: Any, folder: Path, problems: list[str], tmp_path: Path) -> None:
    with reviewing(folder) as (_, url):
        page = open_page(browser, url, problems)
        expect(page.locator("#place")).to_have_text("Pair 1 of 5")
        expect(page.locator("#counts")).to_have_text("0 of 5 decided · 0 accepted · 0 rejected")
        first = page.locator("#sequence").get_attribute("title")
        page.keyboard.press("a")
        expect(page.locator("#status")).to_have_text("✓ Saved: pair 1 accepted.")
        expect(page.locator("#place")).to_have_text("Pair 2 of 5")
        assert decisions(folder) == [{"sequence": first, "decision": "accept", "reason": ""}]
        page.keyboard.press("r")
        expect(page.locator("#reasons")).to_be_visible()
        page.keyboard.press("3")
        expect(page.locator("#counts")).to_have_text("2 of 5 decided · 1 accepted · 1 rejected")
        assert decisions(folder)[-1]["reason"] == "The roles are wrong"
        page.keyboard.press("r")
        page.keyboard.press("6")
        page.keyboard.type("a rare one: u, a and r")  # letters, not commands
        page.keyboard.press("Enter")
        expect(page.locator("#counts")).to_have_text("3 of 5 decided · 1 accepted · 2 rejected")
        assert decisions(folder)[-1]["reason"] == "a rare one: u, a and r"
        page.keyboard.press("Control+z")
        expect(page.locator("#place")).to_have_text("Pair 3 of 5")
        page.keyboard.press("u")
        expect(page.locator("#counts")).to_have_text("1 of 5 decided · 1 accepted · 0 rejected")
        page.keyboard.press("ArrowLeft")
        expect(page.locator("#chips")).to_contain_text("Accepted")
        page.keyboard.press("ArrowLeft")
        expect(page.locator("#status")).to_have_text("This is the first pair.")
        page.reload()
        expect(page.locator("#place")).to_have_text("Pair 2 of 5")  # the first undecided
        page.screenshot(path=tmp_path / "light.png")
        while not page.locator("#done").is_visible():
            page.keyboard.press("r")
            page.keyboard.press("1")
            expect(page.locator("#reasons")).to_be_hidden()
        expect(page.locator("#done")).to_contain_text("To replace the 4 rejected pairs, run the same")
    assert not problems and len(decisions(folder)) == 9


def test_roles_have_the_papers_colours_and_shared_ones_are_marked(
    browser: Any, folder: Path, problems: list[str], tmp_path: Path
) -> None:
    with reviewing(folder) as (_, url):
        for scheme in ("light", "dark"):
            page = open_page(browser, url, problems, color_scheme=scheme)
            for role, colour in TABLE_1.items():
                expect(page.locator(f".legend .tag[data-role='{role}']")).to_have_css("background-color", colour)
            for half in ("query", "contrast"):
                for role in ("Arg0", "Verb", "ARGM-LOC"):
                    phrase = page.locator(f"#{half} .phrase[data-role='{role}']")
                    expect(phrase.locator(".tag")).to_have_css("background-color", TABLE_1[role])
                    expect(phrase.locator(".words")).to_have_css("border-bottom-color", TABLE_1[role])
                    expect(phrase).to_have_class("phrase" if role == "Verb" else "phrase shared")
            expect(page.locator("#query .sentence")).to_contain_text("a brown dog")
            line = page.locator("#contrast path.line")
            expect(line).to_have_attribute("d", re.compile("^M"))
            assert line.evaluate("path => getComputedStyle(path).strokeDasharray") != "none"
            assert page.locator("#query path.line").evaluate("path => getComputedStyle(path).strokeDasharray") == "none"
            drawn = "document.querySelector('#query canvas').getContext('2d').getImageData(9, 9, 1, 1).data[3] === 255"
            page.wait_for_function(drawn)  # the frame's picture comes after the sentences
            page.screenshot(path=tmp_path / f"{scheme}.png")
            page.set_viewport_size({"width": 400, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= 400
            page.screenshot(path=tmp_path / f"{scheme}_narrow.png")
    assert not problems


def test_playing_stepping_and_the_mouse(browser: Any, folder: Path, problems: list[str]) -> None:
    with reviewing(folder) as (_, url):
        page = open_page(browser, url, problems)
        clock = page.locator("#clock")
        expect(clock).to_have_text("2 / 12")  # still, at the first mask
        page.keyboard.press(".")
        page.keyboard.press(".")
        page.keyboard.press(",")
        expect(clock).to_have_text("3 / 12")
        expect(page.locator("#query .note")).to_have_text("faint: the mask of frame 2")
        page.keyboard.press("m")
        expect(clock).to_have_text("10 / 12")
        page.keyboard.press("m")
        expect(page.locator("#contrast .note")).to_contain_text("the clip has ended")
        page.keyboard.press("o")
        expect(page.locator("#query svg")).to_be_hidden()
        page.keyboard.press("Space")
        expect(page.locator("#play")).to_contain_text("Pause")
        expect(clock).not_to_have_text("12 / 12")
        page.get_by_role("button", name="Pause").click()
        page.get_by_role("button", name="Accept").click()
        expect(page.locator("#place")).to_have_text("Pair 2 of 5")
        page.keyboard.press("Space")  # plays; it does not press the button again
        expect(page.locator("#play")).to_contain_text("Pause")
        page.get_by_role("button", name="Reject…").click()
        page.get_by_role("button", name="A video is broken").click()
        expect(page.locator("#counts")).to_have_text("2 of 5 decided · 1 accepted · 1 rejected")
        page.get_by_label("Show").select_option("reject")
        expect(page.locator("#place")).to_have_text("Pair 1 of 1 rejected")
        expect(page.locator("#chips")).to_contain_text("Rejected: A video is broken")
        page.get_by_label("Show").select_option("undecided")
        expect(page.locator("#place")).to_have_text("Pair 1 of 3 undecided")
        page.get_by_role("button", name="Keys").click()
        expect(page.get_by_role("dialog")).to_be_visible()
        page.keyboard.press("a")  # not while the keys are explained
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_be_hidden()
        expect(page.locator("#counts")).to_contain_text("2 of 5")
        page.keyboard.press("Tab")
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    assert not problems


def test_a_server_killed_after_a_key_press_has_kept_it(browser: Any, folder: Path, problems: list[str]) -> None:
    with reviewing(folder) as (process, url):
        page = open_page(browser, url, problems)
        page.keyboard.press("a")
        expect(page.locator("#status")).to_have_text("✓ Saved: pair 1 accepted.")
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert [each["decision"] for each in decisions(folder)] == ["accept"]
        page.keyboard.press("a")
        expect(page.locator("#alert")).to_contain_text("Not saved. The review's server does not answer")
        expect(page.locator("#counts")).to_contain_text("1 of 5 decided")
    with reviewing(folder, "--port", str(urlsplit(url).port)) as (_, new_url):
        page.goto(new_url)  # another sitting, another token
        expect(page.locator("#place")).to_have_text("Pair 2 of 5")
        expect(page.locator("#counts")).to_contain_text("1 of 5 decided")
    assert len(decisions(folder)) == 1
