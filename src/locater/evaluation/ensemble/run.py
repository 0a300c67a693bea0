"""From members' answers to those of an ensemble: what `locater ensemble run` calls."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from locater.datasets.catalog import Source
from locater.datasets.drawn_worlds import Drawing
from locater.errors import LocaterError
from locater.evaluation.ensemble.files import frame_names, write_masks
from locater.evaluation.ensemble.members import open_member
from locater.evaluation.external.mask_files import Numbers
from locater.evaluation.external.score_expressions import Question, score_question
from locater.evaluation.external.submission import protocol_of, write_submission
from locater.evaluation.metrics.sample_score import Drawn, SampleScore
from locater.evaluation.report.tables import Report, as_json
from locater.evaluation.run.runner import chosen
from locater.inference.ensemble.fusing import DOUBTED, How, fused, weights_of
from locater.inference.ensemble.parts import parts_of
from locater.inference.ensemble.scoring import Candidate, Scorer
from locater.io.results_folder import check_results_folder, results_folder
from locater.records import Mask, Sample

SCORES = "scores.json"  # beside the masks: every candidate's score and weight


@dataclass(frozen=True)
class EnsembleRequest:
    """What is joined, how, and where it goes."""

    data: Source
    members: tuple[str, ...]  # NAME=PATH
    out: Path
    grounding: Path | None  # None: every member counts alike
    how: How = "select"
    doubt: float = DOUBTED
    has_parts: bool = False  # the things that a member marks are candidates too
    split: str | None = None
    count: int | None = None
    size: int = 128  # pixels of a world's frames: those that the members were asked with
    limit: int | None = None
    submission: Path | None = None
    device: str | None = None
    force: bool = False


def run_ensemble(request: EnsembleRequest, listen: Callable[[int, int], None] = lambda _, __: None) -> Report:
    """The members' masks joined for each question, as a folder of masks, scores and results."""
    check_results_folder(request.out, force=request.force)
    members = [open_member(each) for each in request.members]
    if len({member.name for member in members}) < len(members):
        raise LocaterError("Two members have one name; name them apart, as ours=runs/a theirs=b.zip.")
    if request.has_parts and request.grounding is None:
        raise LocaterError("Only a grounding module can tell a mask's parts apart; give --grounding, or leave --parts.")
    scorer = None if request.grounding is None else Scorer.from_folder(request.grounding, request.device)
    dataset = request.data.open(request.split, Drawing(request.count, request.size))
    protocol = None if request.submission is None else protocol_of(request.data.name)
    infos = chosen(dataset, request.limit)
    told, answers = {}, []
    with results_folder(request.out, "locater ensemble run", force=request.force) as partial:
        for number, info in enumerate(infos, start=1):
            sample = dataset.load(info)
            named = {member.name: member.masks(sample) for member in members}
            if request.has_parts:
                named |= _parts(named)
            candidates = list(named.values())
            scores = _scores(scorer, sample, candidates)
            weights = weights_of(scores, request.how, request.doubt)
            masks = fused(candidates, weights)
            told[info.key] = _told(named, scores, weights)
            write_masks(partial / "masks" / info.key, masks, sample)
            answers.append(_answer(sample, masks))
            listen(number, len(infos))
        (partial / SCORES).write_text(as_json(told), "utf-8")
        name = " + ".join(member.name for member in members)
        run = {
            "members": name,
            "how": request.how,
            "parts": str(request.has_parts).lower(),
            "grounding": str(request.grounding or "none"),
        }
        report = Report.of(run, name, dataset.name, answers)
        report.write(partial, answers)
    if request.submission is not None and protocol is not None:
        write_submission(request.submission, protocol, dataset, answers)
    return report


def _scores(scorer: Scorer | None, sample: Sample, candidates: Sequence[Candidate]) -> list[float]:
    if scorer is None:
        return [1.0] * len(candidates)
    return scorer.scores(sample.frames, sample.info.expression, candidates)


def _parts(named: Mapping[str, Candidate]) -> dict[str, Candidate]:
    return {
        f"{name}, part {number}": part
        for name, whole in named.items()
        for number, part in enumerate(parts_of(whole), start=1)
    }


def _told(names: Iterable[str], scores: Sequence[float], weights: Sequence[float]) -> dict[str, dict[str, float]]:
    return {
        name: {"score": score, "weight": weight} for name, score, weight in zip(names, scores, weights, strict=True)
    }


class _Joined:
    """One question's masks, as scoring reads files."""

    def __init__(self, masks: Mapping[str, Mask]) -> None:
        self._masks = masks

    def names(self) -> Sequence[str]:
        return sorted(self._masks)

    def read(self, name: str) -> Numbers:
        return self._masks[name].astype("uint8")


def _answer(sample: Sample, masks: Mapping[int, Mask]) -> SampleScore:
    """The masks compared with the truth, at its own size; all of them are kept."""
    names = frame_names(sample.frames)
    files = _Joined({f"{sample.info.key}/{names[index]}": mask for index, mask in masks.items()})
    missing = [index for index in sample.masks if index not in masks]
    if missing:
        raise LocaterError(f"No member has a mask of frame {missing[0]} of '{sample.info.key}', which is annotated.")
    score = score_question(files, Question(sample.info, names, sample.masks, sample.frames))
    return replace(score, predictions={index: Drawn.of(mask) for index, mask in masks.items()})
