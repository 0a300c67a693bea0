"""Every number in the files of printed tables is the paper's: its LaTeX is read again where it is there."""

import os
import re
from importlib import resources
from pathlib import Path

import pytest

from locater.evaluation.report.published import published_rows, published_thirds
from locater.published.tables import printed_table

LATEX = Path(os.environ["LOCATER_DATA"]).parent / "paper" / "locater.tex"  # beside the real data
FILES = sorted(
    entry.name.removesuffix(".tsv")
    for entry in resources.files("locater.published").iterdir()
    if entry.name.endswith(".tsv")
)
LABELS = {name: f"tab:{name}" for name in FILES} | {
    "challenge_val": "tab:challenge:val",
    **{name: f"tab:ablation:{name.removeprefix('ablation_')}" for name in FILES if name.startswith("ablation_")},
}
NUMBER = re.compile(r"\d+(?:\.\d+)?$")


def latex_rows(label: str) -> list[list[str]]:
    """The cells of a table's body, row by row, without LaTeX."""
    text = re.sub(r"(?<!\\)%.*", "", LATEX.read_text("utf-8"))
    at = text.index(rf"\label{{{label}}}")
    body = re.search(r"\\begin\{tabular\}(.*?)\\end\{tabular\}(?!\s*\}?\s*&)", text[_start(text, at) :], re.DOTALL)
    assert body is not None
    return [[plain(cell) for cell in line.split("&")] for line in body.group(1).split(r"\\")]


def _start(text: str, at: int) -> int:
    """Where the table, or the part of one, of the label at this place begins."""
    return max(text.rfind(r"\subfloat[", 0, at), text.rfind(r"\begin{table", 0, at))


def plain(cell: str) -> str:
    """A cell's text: the first argument of what marks a number, then no commands at all."""
    cell = re.sub(r"\\(?:void|bbetter)\{\d+\}\{\d+\}\{((?:\\textbf\{)?[\d.]+\}?)\}(?:\{[\d.]+\})?", r"\1", cell)
    cell = re.sub(r"\\st\{\d+\}\{\d+\}\{((?:\\textbf\{)?[\d.]+\}?)\}\{.*", r"\1", cell)
    cell = re.sub(r"\\multirow\{.*?\}|\\multicolumn\{\d\}\{[^}]*\}", "", cell)
    cell = re.sub(r"\\[a-zA-Z]+|[{}$!~\\^*]", " ", cell)
    return re.sub(r"(?<=\d),(?=\d)", "", " ".join(cell.split()))


@pytest.mark.skipif(not LATEX.is_file(), reason="the paper's LaTeX is not here")
@pytest.mark.parametrize("name", [name for name in FILES if name != "srl"])
def test_every_number_is_the_papers(name: str) -> None:
    table = printed_table(name)
    found = [[cell for cell in row if NUMBER.fullmatch(cell) or cell == "-"] for row in latex_rows(LABELS[name])]
    width = len(table.columns)
    ours = [[row.cells[column] for column in table.columns] for row in table.rows]
    # A row's name may be a number too (N_g = 0), so that the last cells are the row's; a heading may be numbers alone.
    theirs = [row[-width:] for row in found if len(row) >= width]
    heading = [re.sub(r"[^\d.]", "", column) or "1" for column in table.columns]
    assert theirs in (ours, [heading, *ours])


@pytest.mark.skipif(not LATEX.is_file(), reason="the paper's LaTeX is not here")
@pytest.mark.parametrize("name", ["a2dsota", "jhmdbsota", "youtubesota"])
def test_every_row_is_the_papers_method(name: str) -> None:
    text = LATEX.read_text("utf-8")
    part = text[text.index(rf"\label{{tab:{name}}}") - 4000 :]
    for row in printed_table(name).rows:
        cells = "\\s*&\\s*".join(rf"(?:\\textbf)?{{?{re.escape(cell)}}}?" for cell in row.cells.values())
        (line,) = [line for line in part[:9000].splitlines() if re.search(cells, line)]
        who = "Locater" if row.method == "LOCATER" else row.method.removesuffix(" et al.")
        assert who in line and row.backbone in line and (not row.venue or f"\\pub{{{row.venue}}}" in line)


@pytest.mark.skipif(not LATEX.is_file(), reason="the paper's LaTeX is not here")
def test_the_roles_are_the_papers() -> None:
    text = LATEX.read_text("utf-8")
    labelled, lemmatized = (
        re.findall(r"\(([^(),]+), ([\w-]+)\)", text[text.index(start) :].split("\\\\")[0])
        for start in ("Semantic-Role Labeled Description", "Lemmatized Description")
    )
    rows = printed_table("srl").rows
    assert [(row.cells["phrase"], row.method) for row in rows] == labelled
    assert [(row.cells["lemmas"], row.method) for row in rows] == lemmatized


def test_a_dataset_has_the_rows_of_its_table() -> None:
    rows = published_rows("a2d-sentences-test")
    assert len(rows) == 13 and rows["Yang et al. (BMVC21)"]["mAP"] is None
    assert rows["LOCATER, Video-Swin-T"]["P@0.9"] == 17.1 and "frames/s" not in rows["LOCATER, ViT-B"]
    assert published_rows("a2d-s+-S")["LOCATER without memory"] == {"mAP": 17.8, "oIoU": 30.0, "mIoU": 28.4}
    assert published_thirds("a2d-s+-T") == ((2.39, 38.1), (4.19, 30.4), (8.79, 22.2))
    assert published_rows("shapes-test") == {} and published_thirds("a2d-s+-M") == ()
