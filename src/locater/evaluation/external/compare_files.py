"""A comparison as files: a page with curves and pictures, Markdown, and CSVs by question and by frame."""

import csv
import io
from collections.abc import Callable, Sequence
from pathlib import Path

from locater.evaluation.external.compare import SCORES, Comparison, Pair, difference
from locater.evaluation.external.score_expressions import Question
from locater.evaluation.metrics.bootstrap import COVERED, RESAMPLES, Interval
from locater.evaluation.metrics.exact_mean import mean
from locater.evaluation.report.film_strip import film_strip, mask_of, some_of
from locater.evaluation.report.page import spread_chart
from locater.io.results_folder import results_folder
from locater.report.charts import Lines
from locater.report.page import Block, Facts, Page, Section, Text
from locater.report.pictures import Picture
from locater.report.tables import Table, percent

SHOWN = 4  # questions of each system, those where it is ahead the most


def write_comparison(comparison: Comparison, folder: Path, *, force: bool = False) -> str:
    """Fill a folder with compare.html, compare.md, per_question.csv and per_frame.csv; the Markdown comes back."""
    markdown = as_markdown(comparison)
    with results_folder(folder, "locater compare", force=force) as partial:
        (partial / "compare.md").write_text(markdown, "utf-8")
        (partial / "per_question.csv").write_text(_questions_csv(comparison), "utf-8")
        (partial / "per_frame.csv").write_text(_frames_csv(comparison), "utf-8")
        (partial / "compare.html").write_text(comparison_page(comparison).html(), "utf-8")
    return markdown


def as_markdown(comparison: Comparison) -> str:
    """The text of `compare.md`."""
    parts = [f"# {_title(comparison)}", _about(comparison)]
    for table in _tables(comparison):
        parts += [f"## {table.title}", table.markdown()]
    return "\n\n".join(parts) + "\n"


def comparison_page(comparison: Comparison) -> Page:
    """The text of `compare.html` as a page."""
    first, second = comparison.names
    answers = {name: [pair[place] for pair in comparison.pairs] for place, name in enumerate(comparison.names)}
    leads = sorted(100 * difference(pair) for pair in comparison.pairs)
    lead = Lines(
        f"Lead of {first} in J&F",
        f"questions, those where {second} is ahead first",
        {"lead": [(place + 1, value) for place, value in enumerate(leads)]},
    )
    ahead, behind = _furthest(comparison)
    pictures = _pictures(comparison, [*ahead, *behind])
    return Page(
        _title(comparison),
        _about(comparison),
        [
            Section("Scores", [Facts(_facts(comparison))]),
            Section("How the answers are spread", [spread_chart(answers), lead], are_beside=True),
            *(Section(table.title, [table]) for table in _tables(comparison)),
            Section(f"Where {first} is ahead the most", _shown(comparison, ahead, pictures)),
            Section(f"Where {second} is ahead the most", _shown(comparison, behind, pictures)),
        ],
    )


def _title(comparison: Comparison) -> str:
    return f"{' and '.join(comparison.names)} on {comparison.dataset_name}"


def _about(comparison: Comparison) -> str:
    videos = len({first.info.video for first, _ in comparison.pairs})
    return (
        f"{len(comparison.pairs)} questions to {videos} videos. Scores in per cent; a lead is {comparison.names[0]} "
        f"less {comparison.names[1]}, and its interval holds {100 * COVERED:.0f} % of {RESAMPLES:,} resamples of whole "
        "videos."
    )


def _facts(comparison: Comparison) -> list[tuple[str, str, str]]:
    facts = [(f"J&F, {name}", _mean(comparison.pairs, "J&F", place), "") for place, name in enumerate(comparison.names)]
    interval = comparison.interval("J&F")
    remark = "no interval: one video"
    if interval is not None:
        remark = f"{_as_text(interval)}; zero lies {'outside' if interval.is_sure else 'inside: it may be chance'}"
    lead = mean([difference(pair) for pair in comparison.pairs])
    return [*facts, (f"lead of {comparison.names[0]}", percent(lead), remark)]


def _tables(comparison: Comparison) -> list[Table]:
    columns = [*comparison.names, "lead", "interval"]
    whole = [[score, *_cells(comparison, comparison.pairs, score)] for score in SCORES]
    tables = [Table("Both systems", ["", *columns], whole, _note(comparison))]
    kinds, videos = (_grouped(comparison, group_of) for group_of in (_kind, _video))
    if set(kinds) != {""}:
        rows = [[kind or "-", str(len(each)), *_cells(comparison, each, "J&F")] for kind, each in kinds.items()]
        tables.append(Table("J&F by kind of sentence", ["", "questions", *columns], rows))
    # One video has no interval over videos.
    rows = [[video, str(len(each)), *_cells(comparison, each, "J&F")[:-1]] for video, each in videos.items()]
    return [*tables, Table("J&F by video", ["", "questions", *columns[:-1]], rows)]


def _grouped(comparison: Comparison, group_of: Callable[[Pair], str]) -> dict[str, list[Pair]]:
    groups: dict[str, list[Pair]] = {}
    for pair in comparison.pairs:
        groups.setdefault(group_of(pair), []).append(pair)
    return dict(sorted(groups.items()))


def _kind(pair: Pair) -> str:
    return pair[0].info.kind


def _video(pair: Pair) -> str:
    return pair[0].info.video


def _note(comparison: Comparison) -> str:
    interval = comparison.interval("J&F")
    if interval is None:
        return "Intervals need two videos or more."
    return f"{comparison.names[0]} is ahead in J&F in {100 * interval.above_zero:.1f} % of the resamples."


def _cells(comparison: Comparison, pairs: Sequence[Pair], score: str) -> list[str]:
    lead = mean([difference(pair, score) for pair in pairs])
    interval = comparison.interval(score, pairs)
    return [*(_mean(pairs, score, place) for place in (0, 1)), percent(lead), _as_text(interval)]


def _mean(pairs: Sequence[Pair], score: str, place: int) -> str:
    values = [SCORES[score](pair[place]) for pair in pairs]
    return percent(mean([value for value in values if value is not None]))


def _as_text(interval: Interval | None) -> str:
    return "-" if interval is None else f"{100 * interval.low:.2f} to {100 * interval.high:.2f}"


def _furthest(comparison: Comparison) -> tuple[list[Pair], list[Pair]]:
    """The questions where the first system leads the most, and where the second does."""
    ordered = sorted(comparison.pairs, key=lambda pair: (-difference(pair), pair[0].info.key))
    ahead = [pair for pair in ordered if difference(pair) > 0][:SHOWN]
    behind = [pair for pair in reversed(ordered) if difference(pair) < 0][:SHOWN]
    return ahead, behind


def _pictures(comparison: Comparison, pairs: Sequence[Pair]) -> dict[str, Block]:
    """By key: frames with the truth, the first and the second system's masks below each other."""
    wanted = {pair[0].info.key: pair for pair in pairs}
    return {
        each.info.key: _picture(comparison, each, wanted[each.info.key])
        for each in comparison.questions()
        if each.info.key in wanted
    }


def _picture(comparison: Comparison, question: Question, pair: Pair) -> Picture:
    drawn = pair[0].predictions
    size = next((each.height, each.width) for each in drawn.values())
    systems = [lambda index, drawn=score.predictions: drawn[index].mask() for score in pair]
    strip = film_strip(question.video, [mask_of(question.masks, size), *systems], some_of(sorted(drawn)))
    scores = ", ".join(f"{name} {percent(each.j_and_f)}" for name, each in zip(comparison.names, pair, strict=True))
    said = f"J&F {scores}; {question.info.key}. From above: the truth, {' and '.join(comparison.names)}."
    return Picture(strip, f"\u201c{question.info.expression}\u201d", said)


def _shown(comparison: Comparison, pairs: Sequence[Pair], pictures: dict[str, Block]) -> list[Block]:
    blocks: list[Block] = []
    for pair in pairs:
        key = pair[0].info.key
        curves = {
            name: [(frame.index, 100 * frame.counts.iou) for frame in score.frames]
            for name, score in zip(comparison.names, pair, strict=True)
        }
        blocks += [pictures[key], Lines(f"IoU in every annotated frame of {key}", "frame", curves, (0.0, 100.0))]
    return blocks or [Text("Nowhere.")]


def _questions_csv(comparison: Comparison) -> str:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    columns = [f"{score.lower()}_{which}" for score in SCORES for which in ("first", "second")]
    rows.writerow(["key", "video", "expression", "kind", *columns, "lead"])
    for pair in comparison.pairs:
        info = pair[0].info
        scores = [SCORES[score](each) for score in SCORES for each in pair]
        rows.writerow([info.key, info.video, info.expression, info.kind, *scores, difference(pair)])
    return text.getvalue()


def _frames_csv(comparison: Comparison) -> str:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["key", "frame", "iou_first", "iou_second"])
    for first, second in comparison.pairs:
        for one, other in zip(first.frames, second.frames, strict=True):
            rows.writerow([first.info.key, one.index, one.counts.iou, other.counts.iou])
    return text.getvalue()
