"""The failure types: scenes that are always the same, sentences that fit what they should, and outcomes counted."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from locater.datasets.catalog import find_source
from locater.datasets.drawn_worlds import Drawing
from locater.errors import LocaterError
from locater.evaluation.metrics.counts import FrameCounts
from locater.evaluation.metrics.packed_masks import PackedMask, compare
from locater.evaluation.metrics.sample_score import Drawn, FrameScore, SampleScore
from locater.evaluation.report.failure_types import FailureTypesEvaluator, failure_results, outcome
from locater.records import Mask, SampleInfo
from locater.worlds.claims import judge
from locater.worlds.composed import compose
from locater.worlds.composed.scene.scene import Scene
from locater.worlds.failures.composed import ComposedFailures
from locater.worlds.failures.shapes import ShapesFailures
from locater.worlds.failures.staging import FRAMES, KINDS
from locater.worlds.failures.world import FailureWorld
from locater.worlds.shapes.looks import HELD_OUT_PAIRS
from tests.support.composed_sources import SMALL, make_sources

COUNT = 12


@pytest.fixture(scope="module")
def composed(tmp_path_factory: pytest.TempPathFactory) -> ComposedFailures:
    folder = tmp_path_factory.mktemp("failures")
    compose(make_sources(folder), folder / "pack", [], SMALL)
    return ComposedFailures(folder / "pack", count=4, size=32)


def test_scenes_depend_on_their_number_alone() -> None:
    few, many = ShapesFailures(count=2, size=32), ShapesFailures(count=5, size=32)
    by_key = {info.key: info for info in many.samples()}
    assert len(few.samples()) == 2 * (2 + 1 + 2) and all(by_key[info.key] == info for info in few.samples())
    info = few.samples()[3]
    one, two = few.load(info), many.load(info)
    assert all((one.masks[index] == two.masks[index]).all() for index in range(FRAMES))


def test_both_sentences_of_a_binding_have_the_same_words() -> None:
    world = ShapesFailures(count=COUNT)
    for number in range(COUNT):
        (one, first), (two, second) = world.scene("binding", number).questions
        assert one != two and first != second and sorted(one.split()) == sorted(two.split())


@pytest.mark.parametrize("kind", KINDS)
def test_a_sentence_fits_exactly_what_is_meant(kind: str) -> None:
    world = ShapesFailures(count=COUNT)
    for number in range(COUNT):
        found = world.scene(kind, number)
        verdict = judge(found.scene.description, found.scene.objects)
        fits = tuple(np.flatnonzero(verdict == 1).tolist())
        assert fits == found.questions[0][1] and (np.delete(verdict, fits) == -1).all()
        assert len(fits) == (2 if kind == "ambiguity" else 1)


def test_a_reflection_does_what_the_thing_does_upside_down() -> None:
    scene = ShapesFailures().scene("reflection", 3).scene
    real, image = (scene.poses[actor, :, :2] - scene.backdrop.camera for actor in (0, 1))
    assert np.allclose(real[:, 0], image[:, 0], atol=1e-5) and np.allclose(real[:, 1] + image[:, 1], 1.0, atol=1e-5)
    assert scene.actors[0].shape == scene.actors[1].shape and scene.actors[0].colour == scene.actors[1].colour


def test_held_out_pairs_are_kept_for_their_split() -> None:
    for split, wanted in (("test", False), ("heldout", True)):
        world = ShapesFailures(split)
        scenes = [world.scene("binding", number).scene for number in range(COUNT)]
        shown = [{(actor.colour, actor.shape) for actor in scene.actors} & HELD_OUT_PAIRS for scene in scenes]
        assert all(bool(pairs) == wanted for pairs in shown)


def test_cut_outs_are_asked_about_in_the_same_way(composed: ComposedFailures) -> None:
    for kind in KINDS:
        found = composed.scene(kind, 1)
        scene: Scene = found.scene
        verdict = judge(scene.description, scene.objects)
        assert tuple(np.flatnonzero(verdict == 1).tolist()) == found.questions[0][1]
        assert (np.delete(verdict, list(found.questions[0][1])) == -1).all()
    info = next(info for info in composed.samples() if info.kind == "ambiguity")
    masks = [each[0] for each in composed.meant(info)]
    assert (composed.load(info).masks[0] == masks[0] | masks[1]).all() and masks[0].any() and masks[1].any()
    assert len(composed.others(info)) == info.object_count - 2  # type: ignore[operator]


Rule = Callable[[Sequence[Mask], Sequence[Mask]], Mask]
RULES: dict[str, Rule] = {
    "exactly": lambda meant, _: np.logical_or.reduce(list(meant)),
    "more": lambda meant, others: meant[0] | others[0],
    "instead": lambda _, others: others[0],
    "nothing": lambda meant, _: np.zeros_like(meant[0]),
}


def answered(world: FailureWorld[object], info: SampleInfo, rule: Rule) -> SampleScore:  # type: ignore[type-var]
    frames, drawn = [], {}
    sample, meant, others = world.load(info), world.meant(info), world.others(info)
    for index in range(FRAMES):
        mask = rule([each[index] for each in meant], [each[index] for each in others])
        counts: FrameCounts = compare(PackedMask.of(mask), PackedMask.of(sample.masks[index]))
        frames.append(FrameScore(index, counts, 1.0))
        drawn[index] = Drawn.of(mask)
    return SampleScore(info, tuple(frames), FRAMES, None, None, {}, drawn)


@pytest.mark.parametrize("wanted", RULES)
def test_each_outcome_is_told_from_the_others(wanted: str) -> None:
    world = ShapesFailures(count=1, size=48)
    for info in world.samples():
        assert outcome(world, answered(world, info, RULES[wanted])) == wanted  # type: ignore[arg-type]
    first = next(info for info in world.samples() if info.kind == "ambiguity")
    assert outcome(world, answered(world, first, lambda meant, _: meant[0])) == "part"  # type: ignore[arg-type]


def test_shares_are_of_each_type_and_both_questions_count_together() -> None:
    world = ShapesFailures(count=2, size=48)
    infos = [info for info in world.samples() if info.kind == "binding"]
    rules = [RULES[name] for name in ("exactly", "exactly", "exactly", "instead")]
    samples = [answered(world, info, rule) for info, rule in zip(infos, rules, strict=True)]  # type: ignore[arg-type]
    (row,) = failure_results(world, samples).values()
    assert (row["questions"], row["exactly"], row["instead"], row["both_questions"]) == (4, 0.75, 0.25, 0.5)
    sections = FailureTypesEvaluator(world).sections(samples)
    assert "| attribute binding: whose is the colour? | 4 | 75.00 |" in sections.tables[0].markdown()


def test_the_catalog_opens_both(composed: ComposedFailures) -> None:
    shapes = find_source("failures").open(None, Drawing(1, 32))
    cut_outs = find_source(f"failures:{composed.pack.folder}").open(None, Drawing(1, 32))
    assert (shapes.name, cut_outs.name) == ("failures-shapes-test", "failures-composed-test")
    with pytest.raises(LocaterError, match="evaluation alone"):
        find_source("failures").find_training_split()
    with pytest.raises(LocaterError, match="has no split"):
        find_source("failures").open("train")
    with pytest.raises(LocaterError):
        find_source(f"failures:{Path('nowhere')}").open()
