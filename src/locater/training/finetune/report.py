"""What fine-tuning brought, as files: a page with curves and pictures, Markdown, and a CSV row for each sentence."""

import csv
import io
from collections.abc import Sequence

from locater.evaluation.metrics.exact_mean import mean
from locater.evaluation.metrics.sample_score import SampleScore
from locater.evaluation.report.failures import answer_strip
from locater.io.atomic import atomic_entries
from locater.report.charts import Bars, Lines
from locater.report.page import Block, Commands, Facts, Page, Section, Text
from locater.report.pictures import Picture
from locater.report.tables import Table, percent
from locater.training.finetune.command import TRAINING, Finetuned
from locater.training.metrics_log import mean_score, read_events
from locater.training.report import settings_table, training_charts

SHOWN = 8  # sentences with pictures
MOST_BARS = 20


def write_report(found: Finetuned) -> str:
    """Leave report.html, report.md and per_sentence.csv in the run's folder; the Markdown comes back."""
    markdown = as_markdown(found)
    with atomic_entries(found.request.out) as partial:
        (partial / "report.md").write_text(markdown, "utf-8")
        (partial / "per_sentence.csv").write_text(_as_csv(found), "utf-8")
        (partial / "report.html").write_text(finetuning_page(found).html(), "utf-8")
    return markdown


def as_markdown(found: Finetuned) -> str:
    """The text of `report.md`."""
    table = _sentences(found)
    return "\n\n".join([f"# {_title(found)}", *_said(found), f"## {table.title}", table.markdown()]) + "\n"


def finetuning_page(found: Finetuned) -> Page:
    """The whole page."""
    events = read_events(found.request.out / TRAINING / "metrics.jsonl")
    validated = [(event["step"], mean_score(event["validation"])) for event in events if "validation" in event]
    best_step = max(validated, key=lambda each: (each[1], -each[0]))[0]
    shares = Lines(
        "Mean IoU in validation, by how much of the tuning is taken",
        "share of the tuned weights; the rest are the start's",
        {"validation": [(share, 100 * score) for share, score in found.blend.scores.items()]},
        (0.0, 100.0),
        {"taken": found.blend.share},
        is_dotted=True,
    )
    bars = {
        name: {f"{score.info.expression} ({score.info.video})": 100 * (score.j_and_f or 0.0) for score in scores}
        for name, scores in (("before", found.before[:MOST_BARS]), ("after", found.after[:MOST_BARS]))
    }
    about, *others = _said(found)
    return Page(
        _title(found),
        about,
        [
            Section("What it brought", [Facts(_facts(found)), *(Text(each) for each in others)]),
            Section("J&F of each sentence on what was held out", [Bars("", bars), _sentences(found)]),
            Section("Pictures", _pictures(found)),
            Section("Curves", [*training_charts(events, {"best": best_step}), shares], are_beside=True),
            Section("Use it", [Commands(_commands(found))]),
            Section("Settings that differ from the defaults", [settings_table(found.settings)]),
        ],
    )


def _title(found: Finetuned) -> str:
    return f"{found.request.start} fine-tuned on {found.request.folder.resolve().name}"


def _said(found: Finetuned) -> list[str]:
    """What was held out, what was taken, and a warning where either tells little."""
    sentences = len(found.parted.training.samples())
    said = [f"{sentences} sentences were learned. Held out: {found.parted.how}. Scores in per cent."]
    if found.blend.share:
        said.append(
            f"Of what was tuned a share of {found.blend.share:.2f} is taken, the least that does nearly as well as the "
            "best on what was held out: the smaller the share, the less of what the start knew is lost."
        )
    else:
        said.append(
            "Tuning did not help on what was held out, so the checkpoint is the start's, with your words added."
        )
    if len(found.after) < found.questions:
        said.append(f"Of {found.questions} held-out sentences the first {len(found.after)} are scored below.")
    return said


def _facts(found: Finetuned) -> list[tuple[str, str, str]]:
    facts = []
    for name, scores in (("J&F", [each.j_and_f for each in found.after]), ("J", [each.j for each in found.after])):
        before = [each.j_and_f if name == "J&F" else each.j for each in found.before]
        facts.append((f"{name}, held out", percent(_mean(scores)), f"{percent(_mean(before))} before"))
    return [*facts, ("share taken", f"{found.blend.share:.2f}", "of the tuned weights")]


def _mean(values: Sequence[float | None]) -> float | None:
    return mean([value for value in values if value is not None])


def _sentences(found: Finetuned) -> Table:
    rows = []
    for before, after in zip(found.before, found.after, strict=True):
        change = None if before.j_and_f is None or after.j_and_f is None else after.j_and_f - before.j_and_f
        scores = (before.j, after.j, before.j_and_f, after.j_and_f, change)
        rows.append([after.info.expression, after.info.video, *(percent(score) for score in scores)])
    columns = ["sentence", "video", "J before", "J after", "J&F before", "J&F after", "change"]
    return Table("Each sentence on what was held out", columns, rows)


def _pictures(found: Finetuned) -> list[Block]:
    """The sentences that changed the most, the truth above what was marked before and after."""
    pairs = list(zip(found.before, found.after, strict=True))
    changed = sorted(pairs, key=lambda pair: -abs((pair[1].j_and_f or 0.0) - (pair[0].j_and_f or 0.0)))
    return [
        Picture(
            answer_strip(found.parted.validation, before, after),
            f"\u201c{after.info.expression}\u201d",
            f"J {percent(before.j)} before, {percent(after.j)} after; {after.info.video}. From above: the truth, "
            "before, after.",
        )
        for before, after in changed[:SHOWN]
        if before.frames
    ]


def _commands(found: Finetuned) -> list[str]:
    checkpoint = found.request.out / "checkpoint"
    said: SampleScore = found.after[0]
    return [
        f'locater segment CLIP.mp4 "{said.info.expression}" --checkpoint {checkpoint} --out masks',
        f"locater evaluate {checkpoint} folder:{found.request.folder} --out results",
    ]


def _as_csv(found: Finetuned) -> str:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    scores = [f"{name}_{when}" for when in ("before", "after") for name in ("j", "f", "j&f")]
    rows.writerow(["key", "video", "expression", "kind", "held_out_frames", *scores])
    for before, after in zip(found.before, found.after, strict=True):
        info = after.info
        values = [value for each in (before, after) for value in (each.j, each.f, each.j_and_f)]
        rows.writerow([info.key, info.video, info.expression, info.kind, len(after.frames), *values])
    return text.getvalue()
