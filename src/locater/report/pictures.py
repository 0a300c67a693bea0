"""Pictures on a page, inside the file."""

import base64
import io
from dataclasses import dataclass
from html import escape

from PIL import Image

MOST_WIDTH = 1088  # pixels: what a wide screen shows of it
_QUALITY = 82


@dataclass(frozen=True)
class Picture:
    """A picture with a bold line and a quiet one below it."""

    image: Image.Image
    title: str
    remark: str = ""

    def html(self) -> str:
        """A figure; on a narrow screen the picture scrolls sideways rather than shrink to nothing."""
        caption = f"<b>{escape(self.title)}</b> {escape(self.remark)}"
        image = f'<img src="{data_uri(self.image)}" alt="{escape(self.title)}">'
        return f'<figure><div class="wide" tabindex="0">{image}</div><figcaption>{caption}</figcaption></figure>'


def data_uri(image: Image.Image) -> str:
    """The picture as JPEG in an address of its own, no wider than a page."""
    if image.width > MOST_WIDTH:
        image = image.resize((MOST_WIDTH, max(1, round(image.height * MOST_WIDTH / image.width))))
    content = io.BytesIO()
    image.convert("RGB").save(content, "JPEG", quality=_QUALITY)
    return "data:image/jpeg;base64," + base64.b64encode(content.getvalue()).decode("ascii")
