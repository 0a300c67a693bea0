"""The words that decide where grammar alone does not: prepositions of place and of goal, clothes, manners."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ARTICLES = _words("a an the")
DETERMINERS = ARTICLES | _words("this that these those another each every some any no his her its their my our your")
PRONOUNS = _words("he she it they someone somebody something everyone there who which one two three")
FORMS_OF_BE = _words("is are was were be been being am 's 're")
OBJECT_STARTS = DETERMINERS | _words("him it them me us you")
PREPOSITIONS = _words(
    "about above across after against along amid among around at before behind below beneath beside besides between "
    "beyond by cross down during for from in inside into like near of off on onto out outside over past through to "
    "toward towards under underneath until up upon with within without while when as then and or"
)
FUNCTION_WORDS = DETERMINERS | PRONOUNS | FORMS_OF_BE | PREPOSITIONS
NOUNS_IN_ING = _words(
    "something anything nothing everything thing during ceiling building railing duckling clothing king ring string "
    "spring wing swing sling sibling evening morning lightning pudding wedding darling gosling ping"
)

# What the parser is shown for prepositions of several words; it reads these as an adverb and a stray "to" or "of".
COMPOUND_PREPOSITIONS = {
    ("in", "front", "of"): "behind",
    ("in", "back", "of"): "behind",
    ("on", "top", "of"): "above",
    ("in", "between"): "between",
    ("in", "to"): "into",
    ("on", "to"): "onto",
    ("next", "to"): "near",
    ("near", "to"): "near",
    ("close", "to"): "near",
    ("ahead", "of"): "behind",
    ("inside", "of"): "inside",
    ("outside", "of"): "outside",
    ("out", "of"): "from",
    ("away", "from"): "from",
    ("along", "with"): "with",
    ("together", "with"): "with",
}

PLACE_PREPOSITIONS = _words(
    "above across against along alongside amid among around at behind below beneath beside besides between beyond by "
    "cross down in inside near nearby on outside over past through throughout under underneath up upon within"
) | {"next to", "near to", "close to", "in front of", "in back of", "on top of", "in between", "ahead of"}
PLACE_PREPOSITIONS |= {"inside of", "outside of"}
GOAL_PREPOSITIONS = _words("to into onto toward towards") | {"in to", "on to"}
OTHER_PARTY_PREPOSITIONS = _words("with from off") | {"along with", "together with", "out of", "away from"}
PLACE_ADVERBS = _words(
    "behind downstairs here indoor indoors inside nearby outdoor outdoors outside overhead there underneath underwater "
    "upstairs"
)
SIDES = _words("back background bottom center centre corner edge foreground front left middle right side top")
BEFORE_BARE_SIDES = _words("at from in on to")
BEFORE_SIDES = _words("back bottom center centre far front lower middle rear top upper very")

PEOPLE = _words("adult baby boy child girl guy kid lady man person toddler woman")
BODY_PARTS = _words("arm chest finger foot hand head knee lap leg neck palm shoulder")

RESTING_VERBS = _words("be crouch kneel lay lie park rest sit sleep squat stand stay wait")
MOTION_VERBS = _words(
    "climb come crawl creep drive fall fly go hop jump march move race ride roll run skate ski slide step swim walk"
)
PARTICLES = _words("around by down in on over through up")  # after other verbs: "picking up a ball"
RIVAL_VERBS = _words("box compete fight play race wrestle")  # "against a dog" is whom, not where
AIMING_VERBS = _words("aim bark gaze glare growl laugh look peek point smile stare watch wave")  # "at a dog" is whom

TIME_PREPOSITIONS = _words("after before during until")
TIME_NOUNS = _words("afternoon day daytime evening morning night nighttime sunrise sunset time")
TIME_ADVERBS = _words(
    "afterwards again already always currently finally immediately later now often once sometimes suddenly then today "
    "tonight"
)

ORDINALS = _words("first second third fourth forth fifth sixth last")
# Objects of "in", "on" and "at" that say how, not where: "walked on a leash", "running in circles".
MANNERS = ORDINALS | _words("circle command direction foot four fours hurry leash manner motion pace phone speed way")
COLOURS = _words(
    "beige black blonde blue brown camouflage color colour dark gold golden gray green grey light orange pink purple "
    "red silver tan violet white yellow"
)
CLOTHES = _words(
    "apron attire bandana belt bikini blazer blouse bodysuit boot cap cardigan cloth clothes clothing coat costume "
    "denim diaper dress glass glasses glove gown hat helmet hoodie jacket jean jeans jersey jumper jumpsuit kimono "
    "legging leotard mask onesie outfit overall pajama pajamas pant pants pyjama robe sandal scarf shirt shoe short "
    "shorts singlet skirt sleeve sneaker sock suit sunglasses sweater sweatpants sweatshirt swimsuit tee tie tights "
    "top tracksuit trouser trousers trunk tshirt tuxedo underwear uniform vest wear wetsuit"
)
