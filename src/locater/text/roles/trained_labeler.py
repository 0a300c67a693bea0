"""Roles by a trained network: any Hugging Face token classifier whose labels are PropBank's, as the paper's BERT."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING

from locater.errors import LocaterError
from locater.text.head_noun import head_noun
from locater.text.roles import lexicon
from locater.text.roles.records import Role, RoleLabeler, RolePhrase, SentenceRoles

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

VERB_MARK = "[V]"  # before the verb that is asked about, where a tokenizer knows it
ROLES = {
    **dict.fromkeys(("V", "PRED", "PREDICATE", "VERB", "REL"), Role.VERB),
    **dict.fromkeys(("ARG0", "A0"), Role.ARG0),
    **dict.fromkeys(("ARG1", "A1"), Role.ARG1),
    **dict.fromkeys(("ARG2", "A2"), Role.ARG2),
    **dict.fromkeys(("ARGM-LOC", "AM-LOC"), Role.LOCATION),
    **dict.fromkeys(("ARGM-TMP", "AM-TMP"), Role.TIME),
}
_BATCH = 32
_WORD = re.compile(r"\w+(?:[-'’]\w+)*|[^\w\s]")
_AUXILIARIES = lexicon.FORMS_OF_BE | {"has", "have", "had", "will", "can", "does", "do"}


@dataclass(frozen=True)
class _Word:
    text: str  # in lower case
    start: int
    end: int


@dataclass(frozen=True)
class _Span:
    role: Role
    first: int  # of the sentence's words
    last: int


class TrainedLabeler:
    """Roles by a token classifier, read from a folder or the hub.

    One whose tokenizer knows `[V]` is asked once for each verb, with that mark before it; `verbs` finds them, the rules
    by default. Any other is asked once for each sentence. Labels may be BIO (`B-ARG0`) or bare (`ARG0`); roles that the
    paper drops, continuations (`C-`) and references (`R-`) are left out. Of what two verbs claim, the first has it.
    """

    def __init__(self, name: str, verbs: RoleLabeler | None = None) -> None:
        self._name = name
        self._model, self._tokenizer = _loaded(name)
        labels = {int(number): label for number, label in (self._model.config.id2label or {}).items()}
        self._roles = [_role_of(label) for _, label in sorted(labels.items())]
        if Role.ARG0 not in {role for role, _ in self._roles}:
            known = ", ".join(sorted(set(labels.values()))[:8])
            raise LocaterError(
                f"The network '{name}' labels no semantic roles: its labels are {known}, ...; ARG0 is none."
            )
        self._mark: int | None = self._tokenizer.get_vocab().get(VERB_MARK)
        if self._mark is None and Role.VERB not in {role for role, _ in self._roles}:
            raise LocaterError(
                f"The network '{name}' finds no verbs (none of its labels is V), and its tokenizer has no {VERB_MARK} "
                "to be told of one; name another."
            )
        self._verbs = None if self._mark is None else verbs or open_rules()
        self._base_form = _base_forms()

    @property
    def name(self) -> str:
        """The network and the library that runs it; where it is told the verbs, also who finds them."""
        finder = "" if self._verbs is None else f", verbs by {self._verbs.name}"
        return f"{self._name}, transformers {version('transformers')}{finder}"

    def label(self, sentences: Sequence[str]) -> list[SentenceRoles]:
        """The roles of each sentence, in order."""
        words = [[_Word(m[0].lower(), m.start(), m.end()) for m in _WORD.finditer(each)] for each in sentences]
        asked = list(self._questions(sentences, words))
        found: list[list[_Span]] = [[] for _ in sentences]
        for (place, verb), labels in zip(
            asked, self._labels([self._shown(words[p], v) for p, v in asked]), strict=True
        ):
            told = [] if verb is None else [_Span(Role.VERB, verb, verb)]
            # A network that was told the verb labels the others around it.
            spans = [span for span in _spans(labels) if verb is None or span.role is not Role.VERB]
            found[place] += [*told, *spans]
        return [
            SentenceRoles(sentence, tuple(self._phrases(each, spans)))
            for sentence, each, spans in zip(sentences, words, found, strict=True)
        ]

    def _questions(self, sentences: Sequence[str], words: list[list[_Word]]) -> Iterator[tuple[int, int | None]]:
        """Each sentence's place, with each of its verbs' where the network has to be told."""
        if self._verbs is None:
            yield from ((place, None) for place, each in enumerate(words) if each)
            return
        for place, labelled in enumerate(self._verbs.label(sentences)):
            starts = [phrase.start for phrase in labelled.phrases if phrase.role is Role.VERB]
            yield from ((place, verb) for verb, word in enumerate(words[place]) if word.start in starts)

    def _shown(self, words: list[_Word], verb: int | None) -> list[str]:
        return [f"{VERB_MARK} {word.text}" if place == verb else word.text for place, word in enumerate(words)]

    def _labels(self, asked: list[list[str]]) -> Iterator[list[tuple[Role | None, bool]]]:
        """For each word, its role and whether a phrase begins with it."""
        import torch

        for first in range(0, len(asked), _BATCH):
            some = asked[first : first + _BATCH]
            encoded = self._tokenizer(
                some, is_split_into_words=True, return_tensors="pt", padding=True, truncation=True
            )
            with torch.inference_mode():
                best = self._model(**encoded).logits.argmax(-1).tolist()
            for row, words in enumerate(some):
                owners = encoded.word_ids(row)
                labels: list[tuple[Role | None, bool]] = [(None, True)] * len(words)
                for token in reversed(range(len(owners))):  # so that a word has its first token's label
                    owner = owners[token]
                    is_mark = owner is not None and encoded["input_ids"][row, token] == self._mark
                    if owner is not None and not is_mark:
                        labels[owner] = self._roles[best[row][token]]
                yield labels

    def _phrases(self, words: list[_Word], spans: list[_Span]) -> Iterator[RolePhrase]:
        taken: set[int] = set()
        kept = []
        for span in spans:
            places = set(range(span.first, span.last + 1))
            if not places & taken:
                kept.append(span)
                taken |= places
        for span in sorted(kept, key=lambda each: each.first):
            inside = words[span.first : span.last + 1]
            part = "VERB" if span.role is Role.VERB else "NOUN"
            left_out = lexicon.ARTICLES | (_AUXILIARIES if len(inside) > 1 else frozenset())
            written = [word.text for word in inside if word.text not in left_out and word.text[0].isalnum()]
            if not written:
                continue
            base = [self._base_form(word, part) for word in written]
            head = len(base) - 1 if part == "VERB" else _head(written)
            yield RolePhrase(span.role, " ".join(base), base[head], inside[0].start, inside[-1].end)


def _head(words: list[str]) -> int:
    """The place of the word that a phrase means: the noun after its preposition; the last word where none is found."""
    first = 0
    while first < len(words) - 1 and (words[first] in lexicon.PREPOSITIONS or words[first] in {"front", "next", "top"}):
        first += 1
    named = head_noun(words[first:])
    return first + named[-1] if len(named) else len(words) - 1


def _spans(labels: Sequence[tuple[Role | None, bool]]) -> list[_Span]:
    """Runs of words with one role; a word that begins a phrase begins a run."""
    spans: list[_Span] = []
    for place, (role, begins) in enumerate(labels):
        if role is None:
            continue
        if spans and not begins and spans[-1].role is role and spans[-1].last == place - 1:
            spans[-1] = _Span(role, spans[-1].first, place)
        else:
            spans.append(_Span(role, place, place))
    return spans


def _role_of(label: str) -> tuple[Role | None, bool]:
    """The role that a label stands for, None for one that the paper drops, and whether it begins a phrase."""
    upper = label.upper()
    if upper[:2] in ("B-", "I-"):
        return ROLES.get(upper[2:]), upper[:2] == "B-"
    return ROLES.get(upper), False


def _base_forms() -> Callable[[str, str], str]:
    """What gives the base form of a word, taken for a part of speech."""
    try:
        from lemminflect import getLemma
    except ImportError as error:
        raise LocaterError(f'Base forms need {error.name}; run: pip install "locater[contrast]".') from error

    def base_form(word: str, part_of_speech: str) -> str:
        if part_of_speech == "NOUN" and word in lexicon.FUNCTION_WORDS:
            return word
        return str((getLemma(word, part_of_speech) or (word,))[0])

    return base_form


def _loaded(name: str) -> "tuple[PreTrainedModel, PreTrainedTokenizerBase]":
    from transformers import AutoModelForTokenClassification, AutoTokenizer

    try:
        model = AutoModelForTokenClassification.from_pretrained(name, use_safetensors=True)
        tokenizer = AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError) as error:
        reason = str(error).split("\n", maxsplit=1)[0]
        raise LocaterError(f"The labeler '{name}' cannot be loaded ({reason}); give a local folder.") from None
    if not tokenizer.is_fast:
        raise LocaterError(
            f"The tokenizer of '{name}' does not tell which word a token belongs to; name another network."
        )
    return model.eval(), tokenizer


def open_rules() -> RoleLabeler:
    """Our own labeler, where what it needs is installed."""
    try:
        from locater.text.roles.spacy_labeler import SpacyLabeler

        return SpacyLabeler()
    except ImportError as error:
        raise LocaterError(
            f"Semantic roles need spaCy, its small English model and lemminflect ({error.name} is missing); "
            'run: pip install "locater[contrast]".'
        ) from error
