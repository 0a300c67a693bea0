import pytest
import torch

from locater.config import TrainingConfig
from locater.errors import LocaterError
from locater.training.data.batches import first_number, mirrored, training_plans
from locater.training.data.sources import open_data
from locater.training.data.world import WorldData
from locater.worlds.motion_targets import MOTION_TARGETS
from locater.worlds.shapes import shapes_batches


def data(**changes: object) -> WorldData:
    values = {"batch_size": 4, "clip_frames": 2, "global_frames": 2, **changes}
    return WorldData(shapes_batches(), 32, TrainingConfig.model_validate(values), interval=4)


def test_a_later_start_gives_the_same_batches_and_processes_share_them() -> None:
    source = data()
    whole = [plan.expressions for plan in training_plans(source, source.config, 0, 6, 0, 0, 1, 0)]
    rest = [plan.expressions for plan in training_plans(source, source.config, 0, 6, 4, 0, 1, 0)]
    assert len(whole) == 6 and rest == whole[4:]
    halves = [list(training_plans(source, source.config, 0, 6, 0, rank, 2, 0)) for rank in (0, 1)]
    assert [a.expressions + b.expressions for a, b in zip(*halves, strict=True)] == whole
    workers = [plan.expressions for plan in training_plans(source, source.config, 0, 6, 0, 0, 1, 2)]
    assert workers == whole
    assert [plan.expressions for plan in training_plans(source, source.config, 1, 6, 0, 0, 1, 0)] != whole


def test_the_curriculum_lets_kinds_in_when_their_time_comes() -> None:
    only_late = {kind: 0.0 for kind in WorldData.kinds if kind not in ("appearance", "absent")}
    source = data(kind_weights=only_late, curriculum={"absent": 0.5})
    early, late = (source.plan(range(40), progress).referents for progress in (0.4, 0.6))
    assert (early >= 0).all() and (late < 0).any()


def test_a_mirrored_clip_has_a_mirrored_sentence() -> None:
    source = data(kind_weights={kind: 0.0 for kind in WorldData.kinds if kind != "position"})
    batch = source.draw(source.plan(range(12), 0.0), torch.device("cpu"))
    both = mirrored(batch, number=3, chance=0.5)
    changed = 0
    for row, (before, after) in enumerate(zip(batch.expressions, both.expressions, strict=True)):
        is_flipped = torch.equal(both.frames[row], batch.frames[row].flip(-1))
        assert is_flipped or torch.equal(both.frames[row], batch.frames[row])
        assert torch.equal(both.masks[row], batch.masks[row].flip(-1) if is_flipped else batch.masks[row])
        remembered = batch.global_frames[row].flip(-1) if is_flipped else batch.global_frames[row]
        assert torch.equal(both.global_frames[row], remembered)  # else the memory would hold the mirror image
        has_side = any(side in before for side in ("left", "right"))
        assert (before != after) == (is_flipped and has_side)
        changed += is_flipped
    assert 0 < changed < 12
    assert mirrored(batch, 3, 0.5).expressions == both.expressions


def test_processes_mirror_the_clips_that_one_alone_would() -> None:
    source = data()
    batch = source.draw(source.plan(range(8), 0.0), torch.device("cpu"))
    halves = [source.draw(source.plan(numbers, 0.0), torch.device("cpu")) for numbers in (range(4), range(4, 8))]
    whole = mirrored(batch, number=5, chance=0.5)
    shared = [mirrored(half, 5, 0.5, rank, processes=2) for rank, half in enumerate(halves)]
    assert torch.equal(torch.cat([half.frames for half in shared]), whole.frames)
    assert shared[0].expressions + shared[1].expressions == whole.expressions
    assert not torch.equal(whole.frames, batch.frames)


def test_what_cannot_be_is_said() -> None:
    with pytest.raises(LocaterError, match="no dataset 'a2d'; choose one of shapes, composed:PACK"):
        open_data("a2d", 32, TrainingConfig(), 4)
    with pytest.raises(LocaterError, match="kind 'colour'"):
        data(kind_weights={"colour": 1.0})
    source = data(batch_size=5)
    with pytest.raises(LocaterError, match="cannot be shared"):
        training_plans(source, source.config, 0, 6, 0, 0, 2, 0)


def test_a_mirrored_clip_has_mirrored_doings() -> None:
    source = data()
    batch = source.draw(source.plan(range(8), 0.0), torch.device("cpu"))
    assert batch.motion_targets is not None
    both = mirrored(batch, number=3, chance=1.0)
    assert both.motion_targets is not None
    right = MOTION_TARGETS.index("moved_right")
    torch.testing.assert_close(both.motion_targets[:, :, right].flip(-1), -batch.motion_targets[:, :, right])
    dart = MOTION_TARGETS.index("late_dart_left"), MOTION_TARGETS.index("late_dart_right")
    torch.testing.assert_close(both.motion_targets[:, :, dart[0]].flip(-1), batch.motion_targets[:, :, dart[1]])
    others = [i for i, name in enumerate(MOTION_TARGETS) if i not in (right, *dart)]
    torch.testing.assert_close(
        both.motion_targets[:, :, [*others, -1]].flip(-1), batch.motion_targets[:, :, [*others, -1]]
    )


def test_the_sentences_of_one_clip_are_mirrored_with_it() -> None:
    source = data(sentences=2, kind_weights={kind: 0.0 for kind in WorldData.kinds if kind != "position"})
    batch = source.draw(source.plan(range(8), 0.0), torch.device("cpu"))
    both = mirrored(batch, number=3, chance=0.5)
    for clip in range(8):
        is_flipped = torch.equal(both.frames[clip], batch.frames[clip].flip(-1))
        for row in (2 * clip, 2 * clip + 1):
            before, after = batch.masks[row], both.masks[row]
            assert torch.equal(after, before.flip(-1) if is_flipped else before)
            has_side = any(side in batch.expressions[row] for side in ("left", "right"))
            assert (batch.expressions[row] != both.expressions[row]) == (is_flipped and has_side)


def test_every_seed_has_clips_of_its_own() -> None:
    firsts = [first_number(seed) for seed in range(200)]
    assert len(set(firsts)) == len(firsts)
    assert firsts[:3] == [0, 10**8, 2 * 10**8]
    data = WorldData(shapes_batches(), 32, TrainingConfig(steps=1, batch_size=2), interval=4)
    plans = training_plans(data, data.config, 199, 1, 0, rank=0, world=1, workers=0)
    assert next(plans) is not None
