"""From a parsed sentence to its roles, by the conventions that docs/a2d_s_plus.md writes down."""

from typing import TYPE_CHECKING

from locater.text.roles import lexicon
from locater.text.roles.parsed import SUBJECTS, Claim, ParsedSentence
from locater.text.roles.records import Role, RolePhrase, SentenceRoles

if TYPE_CHECKING:
    from spacy.tokens import Token


def find_roles(sentence: str, parsed: ParsedSentence) -> SentenceRoles:
    """The phrases of every predicate in the order of the sentence; none where there is no predicate."""
    claims: dict[int, Claim] = {}  # by the meaning word, so that no word has two roles; what comes first wins
    if parsed.predicates:
        verbs = [parsed.doc[place] for place in sorted(parsed.predicates)]
        direct = [claim for verb in verbs for claim in (*_verb_and_subjects(parsed, verb), *_objects(parsed, verb))]
        described = [claim for verb in verbs for claim in _noun_of_clause(parsed, verb)]
        found = [*direct, *_circumstances(parsed), *described]
        found += [] if _has_subject(found, verbs[0]) else _opening_subject(parsed, verbs[0])
        for claim in found:
            claims.setdefault(claim.head, claim)
    phrases: list[RolePhrase] = []
    for claim in sorted(claims.values(), key=lambda claim: claim.root):
        others = {place for other in claims.values() if other is not claim for place in other.core}
        phrase = parsed.phrase(claim, others)
        if phrase is not None and not (phrases and phrase.start < phrases[-1].end):
            phrases.append(phrase)
    return SentenceRoles(sentence, tuple(phrases))


def _verb_and_subjects(parsed: ParsedSentence, verb: "Token") -> list[Claim]:
    """The verb, who does it, and in the passive to whom it is done."""
    is_passive = parsed.is_passive(verb)
    claims = [Claim(Role.VERB, verb.i, verb.i)]
    for child in verb.children:
        if child.dep_ in SUBJECTS and child.tag_ not in {"WDT", "WP"}:
            # "watching a dog eat": the dog is what is watched before it is who eats
            role = Role.ARG1 if is_passive or verb.dep_ == "ccomp" else Role.ARG0
            claims.append(_subject_claim(parsed, child, role))
        if child.dep_ in {"agent", "prep"} and is_passive and parsed.words[child.i].written == "by":
            claims += [Claim(Role.ARG0, noun.i, noun.i) for noun in child.children if noun.dep_ == "pobj"]
    return claims


def _subject_claim(parsed: ParsedSentence, noun: "Token", role: Role) -> Claim:
    """The subject, where the parser's is not what a reader would say."""
    if parsed.lemma(noun) in lexicon.ORDINALS:  # "the second from the left man"
        later = [token for token in noun.subtree if token.i > noun.i and token.dep_ not in {"compound", "amod"}]
        named = [token for token in later if token.pos_ == "NOUN" and parsed.lemma(token) not in lexicon.SIDES]
        meant = named[0] if named else noun
        return Claim(role, noun.i, meant.i)
    if parsed.lemma(noun) in lexicon.CLOTHES:  # "man in red shirt and blue pants walking": clothes do nothing
        wearer = parsed.opening_noun(noun.i)
        return Claim(role, wearer.i, wearer.i) if wearer else Claim(role, noun.i, noun.i)
    return Claim(role, noun.i, noun.i)


def _noun_of_clause(parsed: ParsedSentence, verb: "Token") -> list[Claim]:
    """The noun that a clause tells of: the dog in "a dog that runs", "a dog chased by a cat"."""
    has_own = any(child.dep_ in SUBJECTS and child.tag_ not in {"WDT", "WP"} for child in verb.children)
    if verb.dep_ not in {"acl", "relcl"} or has_own or verb.head.i in parsed.predicates:
        return []
    return [_subject_claim(parsed, verb.head, Role.ARG1 if parsed.is_passive(verb) else Role.ARG0)]


def _has_subject(claims: list[Claim], verb: "Token") -> bool:
    return any(claim.role in {Role.ARG0, Role.ARG1} and claim.head < verb.i for claim in claims)


def _opening_subject(parsed: ParsedSentence, verb: "Token") -> list[Claim]:
    """What the sentence opens with, where the parser found nobody who does it."""
    noun = parsed.opening_noun(verb.i)
    role = Role.ARG1 if parsed.is_passive(verb) else Role.ARG0
    return [Claim(role, noun.i, noun.i)] if noun else []


def _objects(parsed: ParsedSentence, verb: "Token") -> list[Claim]:
    """To whom or what it is done, and who is given it; of "be", what it is said to be."""
    if parsed.lemma(verb) == "be":
        said = [child for child in verb.children if child.dep_ in {"attr", "acomp"}]
        return [Claim(Role.ARG2, child.i, child.i) for child in said]
    claims = []
    for child in verb.children:
        if child.dep_ == "dative" and child.pos_ != "ADP":
            claims.append(Claim(Role.ARG2, child.i, child.i))
        if child.dep_ == "dobj" and parsed.words[child.i].written not in lexicon.PREPOSITIONS:  # "up an down"
            preposition = _misread_preposition(parsed, verb, child)
            role = Role.ARG1 if preposition is None else Role.LOCATION
            claims.append(Claim(role, child.i if preposition is None else preposition, child.i))
    return claims


def _misread_preposition(parsed: ParsedSentence, verb: "Token", noun: "Token") -> int | None:
    """The place of the preposition of what is no object: "crawling down the stairs" is parsed as "picking up" is."""
    edge = noun.left_edge.i
    for place in (edge, edge - 1):
        written = parsed.words[place].written
        is_particle = written in lexicon.PARTICLES and parsed.lemma(verb) not in lexicon.MOTION_VERBS
        if verb.i < place < noun.i and written in lexicon.PLACE_PREPOSITIONS and not is_particle:
            return place
    return None


def _circumstances(parsed: ParsedSentence) -> list[Claim]:
    """Where and when, and the other parties that prepositions bring in.

    Where the actor is said to be is where it acts, unless the verb has a place of its own.
    """
    around = [claim for token in parsed.doc for claim in _circumstance(parsed, token)]
    of_subject = [claim for claim in around if parsed.is_in_subject(parsed.doc[claim.root])]
    own = [claim for claim in around if claim not in of_subject]
    if any(claim.role is Role.LOCATION for claim in own):
        return own
    lent = [claim for claim in of_subject if claim.role is Role.LOCATION and not _is_of_possession(parsed, claim)]
    return own + lent


def _is_of_possession(parsed: ParsedSentence, claim: Claim) -> bool:
    """Whether it is said where something is that the actor has: "a car with a camper behind it"."""
    holder = parsed.doc[claim.root].head
    is_had = holder.dep_ == "pobj" and parsed.words[holder.head.i].written in {"with", "of"}
    is_body_or_side = parsed.lemma(holder) in lexicon.CLOTHES or parsed.lemma(parsed.doc[claim.head]) in lexicon.SIDES
    return is_had and not is_body_or_side


def _circumstance(parsed: ParsedSentence, token: "Token") -> list[Claim]:
    """The role that an adverb fills, or a preposition's object; none for other words."""
    written = parsed.words[token.i].written
    objects = [child for child in token.children if child.dep_ in {"pobj", "pcomp"} and child.i > token.i]
    if token.pos_ in {"VERB", "AUX"} or (objects and objects[0].i in parsed.predicates):
        return []
    if objects:
        role = _role_of_preposition(parsed, token, objects[0])
        return [Claim(role, token.i, objects[0].i)] if role else []
    if token.dep_ not in {"advmod", "prep", "prt", "npadvmod", "acomp", "pcomp", "amod"}:
        return []
    if written in lexicon.TIME_ADVERBS:
        return [Claim(Role.TIME, token.i, token.i)]
    is_before_noun = token.i + 1 < len(parsed.doc) and parsed.doc[token.i + 1].pos_ in {"NOUN", "PROPN"}
    is_place = written in lexicon.PLACE_ADVERBS and not is_before_noun
    return [Claim(Role.LOCATION, token.i, token.i)] if is_place else []


def _role_of_preposition(parsed: ParsedSentence, preposition: "Token", noun: "Token") -> Role | None:
    """The role of a prepositional phrase; None where it describes a thing or says how."""
    written = parsed.words[preposition.i].written
    verb = parsed.governor(preposition)
    is_of_verb = preposition.head.i == verb.i or preposition.head.pos_ in {"ADV", "ADP"}
    lemma = parsed.lemma(noun)
    role: Role | None = None
    if written in lexicon.TIME_PREPOSITIONS or (written in {"at", "in"} and lemma in lexicon.TIME_NOUNS):
        role = Role.TIME
    elif written in lexicon.GOAL_PREPOSITIONS:
        rests = parsed.is_in_subject(preposition) or parsed.lemma(verb) in lexicon.RESTING_VERBS
        role = Role.LOCATION if rests and written == "to" and lemma in lexicon.SIDES else Role.ARG2
    elif written in lexicon.OTHER_PARTY_PREPOSITIONS:
        role = Role.ARG2 if is_of_verb and verb.i in parsed.predicates else None
    elif written == "against" and parsed.lemma(verb) in lexicon.RIVAL_VERBS:
        role = Role.ARG2
    elif written == "at" and is_of_verb and parsed.lemma(verb) in lexicon.AIMING_VERBS:
        role = Role.ARG1
    elif written in lexicon.PLACE_PREPOSITIONS and not _says_how(parsed, written, noun):
        is_agent = written == "by" and parsed.is_passive(verb)
        is_owned = any(child.tag_ == "PRP$" for child in noun.children)
        is_of_owner = is_owned and not is_of_verb and written in {"in", "on"}
        role = None if is_agent or is_of_owner else Role.LOCATION  # "with a bag on her shoulder": where the bag is
    return role


def _says_how(parsed: ParsedSentence, written: str, noun: "Token") -> bool:
    """Whether a preposition of place says what somebody wears or in what manner he acts."""
    lemma = parsed.lemma(noun)
    if written == "in" and (lemma in lexicon.COLOURS or lemma in lexicon.CLOTHES):
        # "in a red top" is worn, "in the top" is a place
        kinds = [child for child in noun.children if child.dep_ in {"amod", "compound"}]
        return lemma != "top" or any(parsed.lemma(child) not in lexicon.SIDES for child in kinds)
    return written in {"in", "on", "at"} and lemma in lexicon.MANNERS
