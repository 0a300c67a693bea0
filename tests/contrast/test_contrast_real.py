"""The counts on the real A2D-S test text, beside the paper's."""

import time

import pytest

from locater.contrast.pairing import Described, Pairing
from locater.contrast.plan import Plan, plan
from locater.contrast.statistics import count_joined, count_several, count_source
from locater.datasets.catalog import open_dataset
from locater.errors import LocaterError
from locater.text.roles import open_labeler
from tests.support.datasets.making_datasets import real_data


@pytest.fixture(scope="module")
def planned() -> Plan:
    root = real_data("annotations")
    try:
        labeler = open_labeler()
    except LocaterError as error:
        pytest.skip(f"the role labeler is not installed: {error}")
    return plan(open_dataset("a2d-sentences", root, "test"), labeler, 0)


def test_several_actors(planned: Plan) -> None:
    source, several = count_source(planned), count_several(planned.several)
    assert (source.videos, source.queries) == (737, 1295) and f"{source.objects_per_video:.2f}" == "1.76"
    # The paper prints 257 videos and 3.33 objects per video; the official files have these.
    assert (several.videos, several.queries) == (298, 856) and f"{several.objects_per_video:.2f}" == "2.87"


def test_nearly_every_query_has_a_contrast_and_the_others_a_reason(planned: Plan) -> None:
    assert len(planned.outcomes) == 1295 and len(planned.pairs) >= 1260
    for outcome in planned.outcomes:
        assert (outcome.pair is None) == bool(outcome.reason)
    for pair in planned.pairs:
        assert pair.query.info.video != pair.contrast.info.video and pair.shared
        assert set(pair.shared) < pair.query.fillers
        same = sorted(pair.query.roles.structure) == sorted(pair.contrast.roles.structure)
        assert pair.is_relaxed != same
    assert sum(pair.is_relaxed for pair in planned.pairs) < 100
    joined = count_joined(planned.pairs)
    assert joined.objects_per_video is not None and 4.5 < joined.objects_per_video < 6


def test_pairing_takes_seconds(planned: Plan) -> None:
    described = [Described(outcome.query.info, outcome.query.roles) for outcome in planned.outcomes]
    started_at = time.process_time()
    pairing = Pairing(described, 1)
    assert sum(next(pairing.candidates(query), None) is not None for query in described) >= 1260
    taken = time.process_time() - started_at
    print(f"pairing 1,295 queries: {taken:.2f} s")
    assert taken < 10
