"""What is planned from sentences alone: reasons, names, people's decisions, the statistics."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from locater.contrast.decisions import rejected_sequences
from locater.contrast.names import file_names
from locater.contrast.plan import plan
from locater.contrast.statistics import count_joined, count_several, statistics_json, statistics_markdown
from locater.errors import LocaterError
from locater.records import Sample, SampleInfo
from locater.text.roles import SentenceRoles
from tests.support.making_contrasts import FakeLabeler


class Sentences:
    """A dataset without pixels."""

    name = "sentences"

    def __init__(self, *infos: SampleInfo) -> None:
        self._infos = infos

    def samples(self) -> Sequence[SampleInfo]:
        return self._infos

    def load(self, info: SampleInfo) -> Sample:
        raise AssertionError(f"the pixels of {info.key} are not to be touched")


DATASET = Sentences(
    SampleInfo("a/0", "a", "a dog is running", object_count=2),
    SampleInfo("a/1", "a", "the black dog", object_count=2),
    SampleInfo("b/0", "b", "a dog is eating", object_count=1),
    SampleInfo("c/0", "c", "a dog is sleeping", object_count=3),
    SampleInfo("c/1", "c", "a bird is dreaming", "absent", 3),
    SampleInfo("d/0", "d", "a parrot is whistling"),
    SampleInfo("e/0", "e", "a parrot is whistling"),
)


def test_every_query_has_a_pair_or_a_reason() -> None:
    planned = plan(DATASET, FakeLabeler(), 0)
    reasons = {outcome.query.info.key: outcome.reason for outcome in planned.outcomes}
    assert reasons == {
        "a/0": "",
        "a/1": "no semantic role was found",
        "b/0": "",
        "c/0": "",
        "c/1": "nothing in its video is meant",
        "d/0": "every description that shares a phrase is barred",
        "e/0": "every description that shares a phrase is barred",
    }
    barred = planned.outcomes[-1]
    assert barred.detail == "1 share a phrase: 0 of the same video, 1 of videos that the sentence fits too"
    assert [(each.video, len(each.queries)) for each in planned.several] == [("a", 2), ("c", 2)]
    assert plan(DATASET, FakeLabeler(), 0) == planned


def test_a_rejected_pair_gives_way_to_the_next() -> None:
    first = plan(DATASET, FakeLabeler(), 0).pairs[0]
    second = plan(DATASET, FakeLabeler(), 0, frozenset({first.sequence})).pairs[0]
    assert (first.query, first.rank, second.rank) == (second.query, 1, 2) and first.contrast != second.contrast
    left = plan(DATASET, FakeLabeler(), 0, frozenset({first.sequence, second.sequence}))
    assert left.outcomes[0].pair is None and left.outcomes[0].reason == "people rejected every candidate"
    assert len(left.pairs) == 2


def test_statistics() -> None:
    planned = plan(DATASET, FakeLabeler(), 0)
    joined = count_joined(planned.pairs)
    found = statistics_json(planned, {"M": count_several(planned.several), "S": joined, "T": joined})
    assert found["source"] == {"videos": 5, "queries": 7, "objects_per_video": 2.0}
    assert found["subsets"]["M"] == {"videos": 2, "queries": 4, "objects_per_video": 2.5}
    assert found["subsets"]["S"]["queries"] == 3 and "paper" not in found
    text = statistics_markdown(found)
    assert "| queries | 7 | 4 | 3 | 3 |" in text and "- 2: every description that shares a phrase is barred" in text


def test_a_labeler_that_miscounts_is_told() -> None:
    class Lazy(FakeLabeler):
        def label(self, sentences: Sequence[str]) -> list[SentenceRoles]:
            return super().label(sentences[:2])

    with pytest.raises(LocaterError, match="2 answers to 7 sentences"):
        plan(DATASET, Lazy(), 0)


def test_names_fit_any_file_system() -> None:
    names = file_names(["a/b", "a_b", "Dog/1", "dog/1", "..", "x" * 300, "ä/ß#?", "v/0"])
    assert len({name.casefold() for name in names.values()}) == len(names)
    assert all(name and name[0] != "." and len(name) <= 70 and "/" not in name for name in names.values())
    assert names["v/0"] == "v_0" and file_names(["v/0", "w"])["v/0"] == "v_0"
    assert all("__" not in name for name in names.values())


def test_the_last_decision_counts(tmp_path: Path) -> None:
    assert rejected_sequences(tmp_path) == frozenset()
    lines = [
        '{"sequence": "a", "decision": "reject", "reason": "both fit"}',
        '{"sequence": "b", "decision": "reject"}',
        '{"sequence": "b", "decision": "accept"}',
        '{"sequence": "c", "decision": "reject"}',
        '{"sequence": "c", "decision": "undecided"}',
        "",
        '{"sequence": "d", "deci',  # cut short by a kill
    ]
    (tmp_path / "decisions.jsonl").write_text("\n".join(lines))
    assert rejected_sequences(tmp_path) == {"a"}
    (tmp_path / "decisions.jsonl").write_text('{"sequence": "a", "decision": "maybe"}\n')
    with pytest.raises(LocaterError, match=r"line 1 is no decision; write .* accept, reject or undecided"):
        rejected_sequences(tmp_path)
