"""The picture of the page in docs/web.md: the example clip, segmented and corrected by the shipped checkpoint."""

import argparse
import re
import shutil
import subprocess
import sys
from io import BytesIO
from pathlib import Path

from PIL import Image

SIZES = {"wide": (1280, 800), "phone": (390, 844)}
_MOST_SECONDS = 1800


def main() -> None:
    """Serve the page by the real command, use it in headless Chromium, and write what it looks like."""
    parser = argparse.ArgumentParser(prog="python -m tools.web_picture", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/pictures/web.png"))
    parser.add_argument("--size", choices=SIZES, default="wide")
    parser.add_argument("--dark", action="store_true")
    asked = parser.parse_args()
    command = [sys.executable, "-m", "locater", "web", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as serving:
        try:
            assert serving.stdout is not None
            found = re.search(r"http://\S+", serving.stdout.readline())
            if found is None:
                raise SystemExit("The page was not served.")
            picture = _picture(found[0], SIZES[asked.size], asked.dark)
        finally:
            serving.terminate()
    small = Image.open(BytesIO(picture)).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    small.save(asked.out, optimize=True)
    print(f"{asked.out}: {small.width} x {small.height}, {asked.out.stat().st_size // 1024} kB")


def _picture(url: str, size: tuple[int, int], is_dark: bool) -> bytes:
    from playwright.sync_api import sync_playwright

    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"])
        page = browser.new_page(
            viewport={"width": size[0], "height": size[1]}, color_scheme="dark" if is_dark else "light"
        )
        page.set_default_timeout(1000 * _MOST_SECONDS)
        page.goto(url)
        page.click("#example")
        page.wait_for_selector("#screen:not(.waiting)")
        page.fill("#rows li:nth-child(2) input", "the cup that moves to the left")
        page.click("#segment")
        page.wait_for_selector("#take:not([hidden])")
        page.fill("#frame", "46")  # near the end, when the other cup is marked
        page.wait_for_selector("#screen[data-mask='1/46']")
        page.click("#lines li:nth-child(2) button:has-text('Correct')")
        box = page.locator("#screen").bounding_box()
        if box is None:
            raise SystemExit("The page shows no clip.")
        page.mouse.click(box["x"] + 0.495 * box["width"], box["y"] + 0.83 * box["height"])
        page.mouse.click(box["x"] + 0.155 * box["width"], box["y"] + 0.82 * box["height"], button="right")
        page.evaluate("scrollTo(0, 0)")
        picture: bytes = page.screenshot()
        browser.close()
    return picture


if __name__ == "__main__":
    main()
