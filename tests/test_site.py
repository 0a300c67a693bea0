"""The documentation site leaves nothing out, its pages lead somewhere, and the workflow runs what the README says."""

import json
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml

import locater
from tools.site_pages import PAGES, as_markdown, site_markdown

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\]\(([^)#\s]+)")


class WithoutObjects(yaml.SafeLoader):
    """Reads settings, and takes what they make of Python objects for nothing."""


WithoutObjects.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)


def settings(path: str) -> dict[Any, Any]:
    return dict(yaml.load((ROOT / path).read_text(encoding="utf-8"), WithoutObjects))


def pages_of(nav: object) -> Iterator[str]:
    """Every page of a navigation, in its order."""
    if isinstance(nav, str):
        yield nav
    else:
        assert isinstance(nav, list | dict)
        for each in nav.values() if isinstance(nav, dict) else nav:
            yield from pages_of(each)


def site_pages() -> dict[str, str]:
    """Every page's name and text, as the site gets them."""
    docs = {f"docs/{path.name}": path.name for path in (ROOT / "docs").glob("*.md")}
    texts = {}
    for path, page in {**docs, **PAGES}.items():
        text = (ROOT / path).read_text(encoding="utf-8")
        texts[page] = site_markdown(as_markdown(text) if path.endswith(".ipynb") else text, path)
    return texts


def test_every_page_is_in_the_navigation_once() -> None:
    assert sorted(pages_of(settings("mkdocs.yml")["nav"])) == sorted(site_pages())


def test_every_link_of_the_site_leads_to_one_of_its_pages_or_files() -> None:
    pages = site_pages()
    links = {(page, link) for page, text in pages.items() for link in LINK.findall(text) if "://" not in link}
    assert ("index.md", "results.md") in links and ("contributing.md", "datasets.md") in links
    assert {(page, link) for page, link in links if link not in pages and not (ROOT / "docs" / link).is_file()} == set()


def test_files_that_are_not_on_the_site_are_named_by_their_paths() -> None:
    files = "[memory.py](../src/memory.py), the [catalog](../src/catalog.py#add)"
    assert site_markdown(files, "docs/datasets.md") == "`src/memory.py`, the catalog (`src/catalog.py`)"
    pages = "[all](worlds.md#all), [log](../dev/LOG.md), [elsewhere](https://example.org)"
    assert site_markdown(pages, "docs/datasets.md") == pages.replace("../dev/LOG.md", "log.md")
    code = "```python\nmasks[0](../src)\n```\n"
    assert site_markdown(code, "docs/datasets.md") == code


def test_lists_are_spaced_as_the_site_wants_them() -> None:
    github = "Modes:\n- one,\n  in two lines\n- two:\n\n      locater info\n"
    assert site_markdown(github, "docs/a.md") == ("Modes:\n\n- one,\n  in two lines\n- two:\n\n        locater info\n")


def test_the_reference_has_every_public_name_and_no_other() -> None:
    named = re.findall(r"^::: ([\w.]+)$", (ROOT / "docs" / "api.md").read_text(encoding="utf-8"), re.MULTILINE)
    for name in named:
        module, _, attribute = name.rpartition(".")
        assert getattr(import_module(module), attribute).__doc__, name
    assert {f"locater.{name}" for name in locater.__all__} <= set(named)


def test_comments_beside_and_above_attributes_are_shown() -> None:
    pytest.importorskip("griffe", reason="the extra `docs` is not installed")
    from tools.site_attributes import comment_of

    lines = [
        "    # ---- a ruler ----",
        "    x: int  # pixels",
        "    # how likely,",
        "    # if known",
        "    y: float = 0",
        "z = 1",
    ]
    assert [comment_of(lines, line, line) for line in (1, 4, 5)] == ["pixels", "how likely, if known", ""]
    assert comment_of(["# ---- a ruler ----", "x: int"], 1, 1) == ""


def test_nothing_of_the_site_comes_from_elsewhere() -> None:
    assert settings("mkdocs.yml")["theme"]["font"] is False


def test_the_notebook_holds_no_outputs() -> None:
    cells = json.loads((ROOT / "docs" / "first_look.ipynb").read_text(encoding="utf-8"))["cells"]
    assert [cell["outputs"] for cell in cells if cell["cell_type"] == "code" and cell["outputs"]] == []


def test_the_workflow_runs_the_test_command_on_every_python_it_names() -> None:
    workflow = settings(".github/workflows/test.yml")
    assert {"push", "pull_request"} <= set(workflow[True])  # YAML takes `on` for true
    steps = {job: [step.get("run", "") for step in of_job["steps"]] for job, of_job in workflow["jobs"].items()}
    assert "make test" in steps["test"] and "make docs" in steps["docs"]
    assert any("playwright install" in step for step in steps["test"])
    assert {"3.11", "3.12"} <= set(workflow["jobs"]["test"]["strategy"]["matrix"]["python"])
    targets = set(re.findall(r"^([\w./-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    called = {target for of_job in steps.values() for run in of_job for target in re.findall(r"^make (\S+)", run)}
    assert called <= targets
