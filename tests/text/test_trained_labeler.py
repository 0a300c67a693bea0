"""A trained labeler: token classifiers whose answers are known, saved to disk and named as a user names them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import torch

from locater.errors import LocaterError
from locater.text.roles import open_labeler
from tests.support.command_line.running import run_main

BIO = ("O", "B-ARG0", "I-ARG0", "B-V", "B-ARG1", "I-ARG1", "B-ARG2", "I-ARG2", "B-ARGM-LOC", "I-ARGM-LOC",
       "B-ARGM-TMP", "B-ARGM-MNR", "R-ARG0")  # fmt: skip
BARE = ("_", "ARG0", "ARG1", "ARG2", "ARGM-LOC", "ARGM-TMP", "ARGM-MNR", "C-ARG1", "V")


def saved(folder: Path, labels: Sequence[str], answers: Mapping[str, str], marks: Sequence[str] = ()) -> Path:
    """A BERT of no layers that answers for each piece what `answers` says: its embedding is the label's own axis."""
    from transformers import BertConfig, BertForTokenClassification, BertTokenizer

    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *marks, *answers]
    width = 4 * (len(labels) // 4 + 1)
    config = BertConfig(vocab_size=len(pieces), hidden_size=width, num_hidden_layers=0, num_attention_heads=1,
                        intermediate_size=4, id2label=dict(enumerate(labels)),
                        label2id={label: place for place, label in enumerate(labels)})  # fmt: skip
    model = BertForTokenClassification(config)
    with torch.no_grad():
        embeddings = model.bert.embeddings
        for table in (embeddings.position_embeddings, embeddings.token_type_embeddings, embeddings.word_embeddings):
            table.weight.zero_()
        for piece, label in answers.items():
            embeddings.word_embeddings.weight[pieces.index(piece), labels.index(label)] = 1.0
        model.classifier.weight.zero_()
        model.classifier.weight[range(len(labels)), range(len(labels))] = 1.0
        model.classifier.bias.zero_()
    tokenizer = BertTokenizer(vocab={piece: place for place, piece in enumerate(pieces)}, do_lower_case=True)
    tokenizer.add_special_tokens({"additional_special_tokens": list(marks)})
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


PAPERS = "A boy is skiing on the snow and suddenly falling to ground."  # "the" has one answer
PAPERS_ANSWERS = {
    "a": "B-ARG0", "boy": "I-ARG0", "is": "O", "ski": "B-V", "##ing": "I-ARG1", "on": "B-ARGM-LOC",
    "the": "I-ARGM-LOC", "snow": "I-ARGM-LOC", "and": "O", "suddenly": "B-ARGM-TMP", "fall": "B-V", "to": "B-ARG2",
    "ground": "I-ARG2", ".": "O", "quickly": "B-ARGM-MNR", "that": "R-ARG0", "runs": "B-V", "dogs": "B-ARG0",
}  # fmt: skip


@pytest.fixture(scope="module")
def single_pass(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("bio"), BIO, PAPERS_ANSWERS)


def test_the_papers_example_has_the_papers_roles(single_pass: Path) -> None:
    labeler = open_labeler(f"huggingface:{single_pass}")
    (labelled,) = labeler.label([PAPERS])

    assert [(phrase.role.value, phrase.phrase, phrase.head) for phrase in labelled.phrases] == [
        ("Arg0", "boy", "boy"),
        ("Verb", "ski", "ski"),
        ("ARGM-LOC", "on snow", "snow"),
        ("ARGM-TMP", "suddenly", "suddenly"),
        ("Verb", "fall", "fall"),
        ("Arg2", "to ground", "ground"),
    ]
    spans = [PAPERS[phrase.start : phrase.end] for phrase in labelled.phrases]
    assert spans == ["A boy", "skiing", "on the snow", "suddenly", "falling", "to ground"]


def test_roles_that_the_paper_drops_are_left_out(single_pass: Path) -> None:
    labeler = open_labeler(f"huggingface:{single_pass}")
    labelled = labeler.label(["dogs that runs quickly", "", "?!", "runs"])
    assert [[phrase.phrase for phrase in each.phrases] for each in labelled] == [["dog", "run"], [], [], ["run"]]
    assert labeler.label(["dogs that runs quickly"])[0] == labelled[0]  # in any company
    assert str(single_pass) in labeler.name and "transformers" in labeler.name


def test_a_network_with_a_mark_is_asked_once_for_each_verb(tmp_path: Path) -> None:
    answers = {"a": "ARG0", "cat": "ARG0", "is": "_", "sitting": "V", "by": "ARGM-LOC", "the": "ARGM-LOC",
               "wall": "ARGM-LOC", "and": "_", "eating": "V", "fish": "ARG1"}  # fmt: skip
    labeler = open_labeler(f"huggingface:{saved(tmp_path / 'marked', BARE, answers, marks=['[V]'])}")
    asked: list[list[str]] = []
    shown = labeler._shown  # type: ignore[attr-defined]

    def listening(words: object, verb: int | None) -> list[str]:
        asked.append(shown(words, verb))
        return asked[-1]

    labeler._shown = listening  # type: ignore[attr-defined]

    (labelled,) = labeler.label(["a cat is sitting by the wall and eating fish"])

    assert [" ".join(each) for each in asked] == [
        "a cat is [V] sitting by the wall and eating fish",
        "a cat is sitting by the wall and [V] eating fish",
    ]
    assert [(phrase.role.value, phrase.phrase) for phrase in labelled.phrases] == [
        ("Arg0", "cat"), ("Verb", "sit"), ("ARGM-LOC", "by wall"), ("Verb", "eat"), ("Arg1", "fish"),
    ]  # fmt: skip
    assert "verbs by spacy" in labeler.name


@pytest.mark.parametrize(
    ("labels", "told"),
    [(("O", "B-PER", "I-PER"), "labels no semantic roles"), (("O", "ARG0", "ARG1"), "finds no verbs")],
)
def test_a_network_that_cannot_serve_is_refused_in_a_sentence(labels: Sequence[str], told: str, tmp_path: Path) -> None:
    folder = saved(tmp_path / "other", labels, {"dog": labels[1]})
    with pytest.raises(LocaterError, match=told):
        open_labeler(f"huggingface:{folder}")


def test_the_commands_take_it(
    single_pass: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    labeler = ["--labeler", f"huggingface:{single_pass}"]
    answer = run_main(monkeypatch, capsys, "contrast", "roles", "dogs that runs", "--json", *labeler)
    assert answer.code == 0, answer.error
    assert [phrase["head"] for phrase in json.loads(answer.out)[0]["phrases"]] == ["dog", "run"]
    missing = run_main(monkeypatch, capsys, "contrast", "roles", "a", "--labeler", f"huggingface:{tmp_path / 'none'}")
    assert missing.code == 2 and "cannot be loaded" in missing.error
