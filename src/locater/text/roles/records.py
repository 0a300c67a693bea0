"""Who does what, where and when in a sentence: the values that a role labeler gives, and what any labeler offers."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Role(StrEnum):
    """The roles that the paper keeps (section 4); words of any other role are dropped."""

    ARG0 = "Arg0"
    VERB = "Verb"
    ARG1 = "Arg1"
    ARG2 = "Arg2"
    LOCATION = "ARGM-LOC"
    TIME = "ARGM-TMP"


@dataclass(frozen=True)
class RolePhrase:
    """One role and the words that fill it."""

    role: Role
    phrase: str  # lemmas in lower case without articles and auxiliaries: "on snow"
    head: str  # the lemma of its noun or verb: "snow"
    start: int  # where it stands in the sentence, in characters; for colouring
    end: int


@dataclass(frozen=True)
class SentenceRoles:
    """A sentence's roles in the order of the sentence; none where nothing could be labelled."""

    sentence: str
    phrases: tuple[RolePhrase, ...]

    @property
    def structure(self) -> tuple[Role, ...]:
        """The roles alone: what two sentences must have in common to stand in contrast."""
        return tuple(phrase.role for phrase in self.phrases)

    @property
    def has_verb(self) -> bool:
        """Whether anything is done; "the black dog" only names."""
        return Role.VERB in self.structure

    def of(self, role: Role) -> tuple[str, ...]:
        """The phrases that fill a role."""
        return tuple(phrase.phrase for phrase in self.phrases if phrase.role is role)


class RoleLabeler(Protocol):
    """Anything that finds roles: ours, or a user's own network."""

    @property
    def name(self) -> str:
        """What labels, with its versions: part of the provenance of what is built from the roles."""
        ...

    def label(self, sentences: Sequence[str]) -> list[SentenceRoles]:
        """The roles of each sentence, in order."""
        ...
