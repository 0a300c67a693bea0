"""A parsed sentence: which words are predicates, what a word's base form is, which words stand with another."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lemminflect import getLemma

from locater.text.roles import lexicon
from locater.text.roles.records import Role, RolePhrase
from locater.text.roles.telegraphic import Word

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

SUBJECTS = frozenset({"nsubj", "nsubjpass", "csubj"})
_NOT_PREDICATES = frozenset({"amod", "compound", "nmod", "aux", "auxpass", "dobj", "pobj", "prep", "acomp", "poss"})
_CLAUSES = frozenset({"acl", "relcl", "advcl", "ccomp", "parataxis"})
_NOUNS = frozenset({"NOUN", "PROPN"})


@dataclass(frozen=True)
class Claim:
    """A role, where the phrase that fills it begins, and the word that means it: "on" and "snow"."""

    role: Role
    root: int
    head: int

    @property
    def core(self) -> range:
        """The places that no other role may have."""
        return range(self.root, self.head + 1)


class ParsedSentence:
    """The parser's tokens beside the words that it was shown, one each."""

    def __init__(self, words: list[Word], doc: "Doc", is_copular: bool = False) -> None:
        self.words = words
        self.doc = doc
        self.is_copular = is_copular  # its only verb is an "is" that was put in
        self.predicates = {token.i for token in doc if self._is_predicate(token)}

    def _is_predicate(self, token: "Token") -> bool:
        word = self.words[token.i]
        if self.is_copular:
            return word.is_inserted and token.lemma_ == "be"
        if token.dep_ in _NOT_PREDICATES | SUBJECTS or word.shown != word.written:  # put in, or in place of no verb
            return False
        if token.lemma_ == "be":  # "there is a dog" names a dog, as "a dog" does
            return not any(self.words[child.i].written == "there" for child in token.children)
        return token.pos_ == "VERB"

    def is_passive(self, verb: "Token") -> bool:
        """Whether the verb's subject is who it is done to."""
        is_marked = any(child.dep_ in {"nsubjpass", "auxpass"} for child in verb.children)
        return is_marked or (verb.tag_ == "VBN" and verb.dep_ == "acl")

    def governor(self, token: "Token") -> "Token":
        """The predicate that a word hangs on, or the sentence's root."""
        while token.head.i != token.i and token.i not in self.predicates:
            token = token.head
        return token

    def is_in_subject(self, token: "Token") -> bool:
        """Whether a word describes who acts or is acted on, before the verb, and not the act."""
        while token.head.i != token.i:
            parent = token.head
            if parent.i in self.predicates:
                return token.dep_ in SUBJECTS and token.i < parent.i
            is_told_by_clause = any(child.dep_ in {"acl", "relcl"} for child in parent.children)
            if parent.head.i == parent.i and is_told_by_clause and token.dep_ not in _CLAUSES:
                return True
            token = parent
        return False

    def opening_noun(self, before: int) -> "Token | None":
        """The noun that the sentence opens with, up to the first preposition or verb; none where it opens with none."""
        noun = None
        for token in self.doc[:before]:
            if token.pos_ in {"ADP", "VERB", "AUX", "SCONJ", "PUNCT"}:
                break
            noun = token if token.pos_ in _NOUNS or noun is None else noun
        is_named = noun is not None and not self.words[noun.i].is_inserted and noun.pos_ != "DET"
        return noun if is_named else None

    def lemma(self, token: "Token") -> str:
        """The word's base form; as written where the parser was shown another word, and of all but nouns and verbs."""
        word = self.words[token.i]
        if word.shown != word.written:
            return word.written.rpartition(" ")[2]
        if token.i in self.predicates:
            return _base_form(token, "VERB")
        return _base_form(token, "NOUN") if token.tag_ in {"NNS", "NNPS"} else word.written

    def phrase(self, claim: Claim, barred: set[int]) -> RolePhrase | None:
        """The claim's words: the unbroken run around its meaning word, up to what is barred; None where it has none."""
        head = self.doc[claim.head]
        inside = {claim.head} if claim.role is Role.VERB else set(self._below(head, barred)) - barred
        run = _run_around(claim.head, inside | set(claim.core))
        while run and (self.doc[run[-1]].is_punct or self.doc[run[-1]].dep_ == "cc"):
            run.pop()
        written = [place for place in run if not self.words[place].is_inserted]
        kept = [self._shortened(place) for place in written if self.words[place].written not in lexicon.ARTICLES]
        if not kept or self.words[claim.head].is_inserted:
            return None
        start, end = self.words[written[0]].start, self.words[written[-1]].end
        return RolePhrase(claim.role, " ".join(kept), self.lemma(head), start, end)

    def _below(self, token: "Token", barred: set[int]) -> Iterator[int]:
        """The word and all that describe it, without clauses."""
        yield token.i
        is_side = self.lemma(token) in lexicon.SIDES  # "on the left with a red shirt": it is not the left that wears it
        for child in token.children:
            is_of_another = is_side and child.dep_ == "prep" and self.words[child.i].written != "of"
            is_clause = child.dep_ in _CLAUSES or child.i in self.predicates
            if child.i not in barred and not is_clause and not is_of_another:
                yield from self._below(child, barred)

    def _shortened(self, place: int) -> str:
        word = self.words[place]
        return self.lemma(self.doc[place]) if word.shown == word.written else word.written


def _base_form(token: "Token", part_of_speech: str) -> str:
    """The parser's lemma where the dictionary knows it, else the dictionary's: the parser makes "rid" of "riding"."""
    known = getLemma(token.text, part_of_speech)
    return token.lemma_ if token.lemma_ in known else str(known[0])


def _run_around(place: int, inside: set[int]) -> list[int]:
    """The unbroken run of places that holds the given one."""
    start = end = place
    while start - 1 in inside:
        start -= 1
    while end + 1 in inside:
        end += 1
    return list(range(start, end + 1))
