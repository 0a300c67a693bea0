"""The page of a training, `report.html`: its curves, its settings and one validation video of each kind."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from locater.config import TrainingConfig
from locater.io.atomic import atomic_path
from locater.report.charts import Lines
from locater.report.page import Block, Facts, Page, Section, Text
from locater.report.pictures import Picture
from locater.report.tables import Table, percent
from locater.training.metrics_log import mean_score, read_events

Events = Sequence[Mapping[str, Any]]


def write_training_page(folder: Path, config: TrainingConfig, parameters: int) -> None:
    """Leave `report.html` in a training's folder, made of what lies there."""
    events = read_events(folder / "metrics.jsonl")
    page = Page(
        f"Training in {folder.resolve().name}",
        f"{parameters / 1e6:.1f} million parameters that learn. Every number is in metrics.jsonl.",
        [
            Section("How far it is", [Facts(_facts(events, config))]),
            Section("Curves", training_charts(events), are_beside=True),
            *_validation(events),
            Section("One video of each kind, the truth above", validation_pictures(folder)),
            Section("Settings that differ from the defaults", [settings_table(config)]),
        ],
    )
    with atomic_path(folder / "report.html") as partial:
        partial.write_text(page.html(), "utf-8")


def training_charts(events: Events, marks: Mapping[str, float] | None = None) -> list[Block]:
    """Loss, its terms, validation by kind, and the rate, over steps."""
    logged = [event for event in events if "loss" in event]
    validated = [event for event in events if "validation" in event]
    charts: list[Block] = []
    if logged:
        terms = [name for name in logged[0] if name not in ("step", "rate", "clips")]
        curves = {name: [(event["step"], event[name]) for event in logged if name in event] for name in terms}
        charts.append(Lines("Loss and its terms", "step", curves, marks=marks))
    if validated:
        kinds = sorted({kind for event in validated for kind in event["validation"]})
        curves = {
            kind: [
                (event["step"], 100 * event["validation"][kind]) for event in validated if kind in event["validation"]
            ]
            for kind in kinds
        }
        if len(kinds) > 1:
            mean = [(event["step"], 100 * mean_score(event["validation"])) for event in validated]
            curves = {"mean": mean, **curves}
        charts.append(Lines("Validation, mean IoU in per cent", "step", curves, (0.0, 100.0), marks, is_dotted=True))
    if logged:
        rates = {"rate": [(event["step"], event["rate"]) for event in logged]}
        charts.append(Lines("Learning rate, as a share of the full one", "step", rates, (0.0, 1.0)))
    return charts


def validation_pictures(folder: Path) -> list[Block]:
    """The pictures of the last validation."""
    blocks: list[Block] = []
    for path in sorted((folder / "validation").glob("*.png")):
        with Image.open(path) as image:
            blocks.append(Picture(image.convert("RGB"), path.stem))
    return blocks


def settings_table(config: TrainingConfig) -> Table:
    """The settings that are not the defaults."""
    usual = TrainingConfig().model_dump()
    rows = [[f"training.{name}", str(value)] for name, value in config.model_dump().items() if value != usual[name]]
    return Table("Settings", ["setting", "value"], rows)


def _facts(events: Events, config: TrainingConfig) -> list[tuple[str, str, str]]:
    logged = [event for event in events if "loss" in event]
    scores = [mean_score(event["validation"]) for event in events if "validation" in event]
    facts = [("steps", str(max((event["step"] for event in events), default=0)), f"of {config.steps or '-'}")]
    if logged:
        facts.append(("loss", f"{logged[-1]['loss']:.4f}", f"{logged[0]['loss']:.4f} at the start"))
    if scores:
        facts.append(("validation", percent(scores[-1]), f"the best was {percent(max(scores))}"))
    return facts


def _validation(events: Events) -> list[Section]:
    validated = [event for event in events if "validation" in event]
    if not validated:
        return [Section("Validation", [Text("This training was not validated.")])]
    last = validated[-1]
    rows = [[kind, percent(score)] for kind, score in last["validation"].items()]
    return [Section(f"Validation at step {last['step']}", [Table("", ["kind of sentence", "mean IoU"], rows)])]
