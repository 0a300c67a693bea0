"""Gives the documentation site its pages from beside docs/, and links that lead somewhere there (a hook of MkDocs)."""

import json
import posixpath
import re
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
PAGES = {  # a file of the repository: its page on the site; every other page is the file of its name in docs/
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "dev/LOG.md": "log.md",
    "docs/first_look.ipynb": "first_look.md",
}
_FENCED = re.compile(r"(^```.*?^```)", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")
# GitHub wants neither the empty line between text and a list, nor more than two spaces before what belongs to an item.
_LIST_AFTER_TEXT = re.compile(r"^((?!- )\S.*\n)(?=- )", re.MULTILINE)
_CODE_OF_AN_ITEM = re.compile(r"^((?:- |  )\S.*\n\n)((?: {6}.*\n)+)", re.MULTILINE)


def on_files(files: "Files", config: "MkDocsConfig") -> "Files":
    """The files of docs/, and a page for each of `PAGES`."""
    from mkdocs.structure.files import File

    for path, page in PAGES.items():
        text = (ROOT / path).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=as_markdown(text) if path.endswith(".ipynb") else text))
    return files


def on_page_markdown(markdown: str, *, page: "Page", config: "MkDocsConfig", files: "Files") -> str:  # noqa: ARG001
    """A page's text with the site's links."""
    origins = {made: path for path, made in PAGES.items()}
    return site_markdown(markdown, origins.get(page.file.src_uri, f"docs/{page.file.src_uri}"))


def as_markdown(notebook: str) -> str:
    """A notebook's cells as one document; outputs are left out."""
    cells = ((cell["cell_type"], "".join(cell["source"])) for cell in json.loads(notebook)["cells"])
    return "\n\n".join(f"```python\n{text}\n```" if kind == "code" else text for kind, text in cells) + "\n"


def site_markdown(text: str, path: str) -> str:
    """What the repository's document at `path` says, with the site's links, and lists as Python-Markdown wants them."""
    parts = _FENCED.split(text)
    for place in range(0, len(parts), 2):  # those between are code
        linked = _LINK.sub(lambda found: _site_link(found[1], found[2], path), parts[place])
        parted = _LIST_AFTER_TEXT.sub(r"\1\n", linked)
        parts[place] = _CODE_OF_AN_ITEM.sub(lambda found: found[1] + indent(found[2], "  "), parted)
    return "".join(parts)


def _site_link(label: str, link: str, path: str) -> str:
    """The link on the site; to a file that is not on it, its path in the repository as text."""
    file, mark, anchor = link.partition("#")
    if not file or re.match(r"[a-z]+:", link):
        return f"[{label}]({link})"
    target = posixpath.normpath(posixpath.join(posixpath.dirname(path), file))
    if target in PAGES:
        return f"[{label}]({PAGES[target]}{mark}{anchor})"
    if target.startswith("docs/"):
        return f"[{label}]({target.removeprefix('docs/')}{mark}{anchor})"
    name = label.strip("`").rstrip("/")
    return f"`{target}`" if target.endswith(name) else f"{label} (`{target}`)"
