"""Words that name people."""

from locater.text.words import split_words

PEOPLE = frozenset(
    split_words(
        "person people human man men woman women boy boys girl girls child children kid kids baby adult lady ladies "
        "guy guys player players rider riders skier surfer dancer dancers skater hiker runner cyclist worker pedestrian"
    )
)
