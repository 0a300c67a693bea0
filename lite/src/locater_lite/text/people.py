"""Words that name people."""

from locater_lite.text.words import split_words

PEOPLE = frozenset(
    split_words(
        "person people human man men woman women boy boys girl girls child children kid kids baby adult lady ladies "
        "guy guys player players rider riders skier snowboarder surfer swimmer dancer dancers skater skateboarder "
        "hiker runner cyclist biker motorcyclist worker policeman policewoman pedestrian"
    )
)
