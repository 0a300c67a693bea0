"""What people add to a noun without deciding anything by it: "the bear walking past the rocks" of the only bear.

Nobody checks whether a distractor is true. A network that never read any would take a sentence of unknown words for a
sentence on something else, so there are very many, of common words, and not all of them make sense. None of them uses
a word that claims use: places in the picture, sizes, motions, events.
"""

from collections.abc import Sequence
from itertools import permutations

from locater.worlds.composed.pack.nouns import is_person
from locater.worlds.grammar import Pattern


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _after_a(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{'an' if word[0] in 'aeiou' else 'a'} {word}" for word in words)


_ADJECTIVES = _words("""silver shiny old new young colorful speckled pretty dirty real toy tall lonely tired cute fluffy
    beautiful wooden metal plastic modern vintage wet muddy noisy thin fat round busy calm famous lovely strange empty
    full bright dark pale nice good funny happy sad angry gentle friendly brave clever lazy sleepy hungry curious
    playful proud shy wild tame domestic furry hairy soft smooth rough hard sharp heavy thick slim long short wide
    narrow flat square curved broken damaged rusty dusty dry clean fresh hot cold warm frozen cheap expensive fancy
    elegant classic ancient antique typical common rare special unusual simple plain perfect favorite popular local
    foreign strong weak quiet loud powerful healthy skinny slender adult professional lucky printed painted decorated
    handsome""")
# Nouns that other nouns have before them: what sort of player, boat or dog it is, nobody knows.
_SORTS = _words("""race racing sports model fishing hockey tennis soccer football baseball basketball golf ski snow
    beach street city country mountain river garden forest farm desert ocean family police rescue delivery passenger
    tourist service guide guard cargo training competition festival summer winter night morning circus kitchen
    office hotel museum home pet show team club company army hobby holiday camping hunting wedding birthday""")
# Before the noun, where no colour is said: what no annotation tells, and colours of things that have several.
IDLE_ADJECTIVES = (
    *_SORTS,
    *(f"{one} and {other}" for one, other in permutations(("white", "black", "blue", "red", "brown", "green"), 2)),
    *_ADJECTIVES,
)
_GROUNDS = (
    *("on the grass", "across the field", "in the street", "along the path", "down the road", "on the beach"),
    *("past the rocks", "in the snow", "through the forest", "by the water", "in the garden", "on the floor"),
    *("in front of the wall", "in front of the trees", "in the park", "among the people", "in the sun"),
    *("on the table", "on the ground", "on the shelf", "in the room", "in the air", "in the traffic", "on the track"),
)
_PLACES = _words("""fountain fence bridge hill river pond poles ramp crowd building window door kitchen sidewalk corner
    street road path field forest beach park garden lawn meadow lake ocean sea shore island mountain valley cliff desert
    cave waterfall stream woods jungle swamp bush trees leaves flowers plants grass rocks stones sand snow ice water
    rain shade shadow clouds fog smoke house hut cabin barn farm yard backyard garage driveway gate porch balcony roof
    staircase steps hallway room bedroom bathroom office school church castle tower temple museum theater stage market
    shop restaurant cafe hotel hospital station airport harbor dock pier rails tunnel highway intersection alley court
    gym pool stadium arena playground zoo cage tent camp bench table chair couch shelf desk counter carpet floor ground
    audience people children lamp ladder pipe log net barrels traffic track obstacles hurdles""")
_WAYS = (
    *("across", "along", "through", "past", "around", "toward", "against", "inside", "outside", "among", "by", "at"),
    *("from", "in", "on", "into", "onto", "between", "in front of", "out of", "away from"),
)
_THE = ("the", "the", "the", "the", "this", "some", "its", "our", "another")
_AROUND: Pattern = (_WAYS, _THE, _PLACES)
_PARTS = _words("""handle tail wheel engine logo sail basket lid label strap rope chain screen cable hook leg neck nose
    mouth face collar leash saddle bell flag number sticker roof door window mirror seat motor antenna trailer frame
    pattern cover shadow pocket ribbon base head body back belly smile name story owner partner friend tag crown paw
    feather""")
_PAIRS = _words("lights legs eyes ears wings horns wheels windows teeth hands arms feet handles")
_DYES = _words("white black blue red green yellow gray brown pink orange purple dark light striped")
_STUFFS = _words("""pictures mud snow dust wood metal glass plastic paper stone leather cloth wool rubber steel concrete
    clay brick leaves flowers dirt sand water ice paint rust fruit toys books boxes people passengers""")
_TAILS = (
    *("in front", "in front of the camera", "in the foreground", "in the background", "in the scene", "in the video"),
    *("in this video", "in this clip", "in the picture", "in view", "in the shot", "on camera", "on the screen"),
    *("in the distance", "at night", "in the morning", "in the afternoon", "during the day", "in summer", "in winter"),
    *("for hours", "every day", "as usual", "here", "there", "again", "alone", "together with others", "waiting there"),
    *("waiting for its turn", "as it passes by", "as seen from here", "we can see here", "you can see", "on its own"),
    *("with nothing else", "without anything", "being filmed", "shown to us", "looking at the camera"),
    *("with somebody", "with its mouth open", "with people in it", "with its lights on", "that somebody put there"),
    *("ready to go", "known to everybody", "that everybody looks at"),
)
# Whatever else a thing may be said to do.
_DOING = _words("""gliding hovering circling weaving balancing bouncing swinging swaying swirling steering posing
    relaxing struggling escaping hiding emerging appearing working competing performing practicing traveling wandering
    roaming marching strolling sliding slipping drifting soaring diving splashing paddling rowing surfing riding
    carrying pushing pulling dragging holding catching throwing kicking chasing following leading guarding searching
    digging sniffing barking grazing resting dozing hanging floating sinking burning shining glowing smoking steaming
    moored docked tied attached mounted installed stacked folded opened closed crossing entering exiting leaving
    arriving visiting exploring enjoying having making doing taking using trying preparing""")
_GENERAL: tuple[Pattern, ...] = (
    (_DOING, *_AROUND),
    (_DOING, ("with", "without", "among"), ("somebody", "something", "others", "its friends", "the others")),
    (("that", "which"), ("is", "was"), _DOING, *_AROUND),
    (_TAILS,),
    (_TAILS,),
    _AROUND,
    (_WAYS, _THE, _ADJECTIVES, _PLACES),
    (
        ("waiting", "resting", "lying", "standing", "leaning", "seen", "shown", "filmed", "found", "placed"),
        *_AROUND,
    ),
    (("with", "without"), _after_a(_PARTS)),
    (("with", "missing", "showing"), ("its", "the", "some"), (*_PARTS, *_PAIRS)),
    (("with",), _after_a(_ADJECTIVES), _PARTS),
    (("with",), _after_a(_DYES), _PARTS),  # a colour is not always the thing's own
    (("covered in", "covered with", "made of", "full of", "surrounded by", "decorated with", "like"), _STUFFS),
    (("that", "which"), ("is", "looks", "seems", "was"), ("very", "so", "quite", "really", "rather"), _ADJECTIVES),
    (
        ("that", "which"),
        ("we", "you", "everybody", "somebody", "people", "the camera", "nobody", "children", "they", "he", "she"),
        ("saw", "watched", "followed", "liked", "loved", "noticed", "found", "wanted", "filmed", "mentioned", "knew"),
        ("there", "here", "today", "yesterday", "before", "once", "often", "at home", "too", "outside"),
    ),
)
_CLOTHES = _words("""shirt t-shirt jacket sweater coat dress skirt blouse suit hat helmet cap vest scarf tie uniform
    costume robe swimsuit apron hood belt""")
_LEGS = ("jeans", "shorts", "pants", "shoes", "boots", "gloves", "sunglasses", "glasses", "socks", "clothes")
_A_GARMENT: Pattern = (_after_a(_DYES), _CLOTHES)
# How the colour of what people wear is said; their own colour is not.
CLOTHED = (
    *("in {colour}", "wearing {colour}", "dressed in {colour}", "in {colour} clothes", "in {colour} clothing"),
    *(f"in a {{colour}} {garment}" for garment in ("shirt", "shirt", "t-shirt", "jacket", "coat", "sweater")),
    *(f"wearing a {{colour}} {garment}" for garment in ("shirt", "jacket", "coat", "sweater")),
    *("with a {colour} shirt", "with a {colour} jacket"),
)
_LOADS = _words("""backpack bag racket stick bike dog camera stroller board friend umbrella phone suitcase ball guitar
    bottle cup book box flag rope basket cane kite tray map microphone newspaper balloon baby cart horse""")
_GAMES = _words("tennis soccer football basketball baseball volleyball golf hockey guitar cards music games")
_ACTS = _words("""walking running standing sitting dancing talking smiling laughing singing cooking reading writing
    shopping working training performing skating hiking surfing skiing cycling fishing climbing waving cheering kneeling
    thinking speaking playing crossing practicing pointing arguing jumping""")
_PEOPLE: tuple[Pattern, ...] = (
    (("in", "wearing"), _after_a(_CLOTHES)),
    # Several colours at once, and those of trousers and shoes, are not checked.
    (("in", "wearing"), *_A_GARMENT, ("and",), *_A_GARMENT),
    (("in", "wearing"), _DYES, _LEGS),
    (("with", "holding", "carrying"), _after_a(_LOADS)),
    (("with", "carrying"), _after_a(_DYES), _LOADS),
    (("hitting", "kicking", "throwing", "pushing", "pulling", "lifting"), _after_a(_LOADS)),
    (("riding", "on"), _after_a(("bike", "horse", "scooter", "skateboard", "motorcycle", "wave", "snowboard"))),
    (("playing", "watching", "practicing"), _GAMES),
    (("playing with", "talking to", "looking at", "hitting"), ("the ball", "somebody", "the camera", "a friend")),
    (_ACTS,),
    (_ACTS, (*_GROUNDS, "over the fence", "with somebody", "with a ball", "to music")),
    (_ACTS, *_AROUND),
)
_ROAMING = _words("""walking running standing lying sitting swimming flying wading jumping eating drinking sleeping
    nesting hunting playing exploring approaching chewing calling licking touching stretching watching feeding bathing
    climbing chasing breathing listening""")
_ANIMALS: tuple[Pattern, ...] = (
    (_ROAMING,),
    (_ROAMING, (*_GROUNDS, "over the water", "over the fence", "over the log", "away", "in the pond")),
    (_ROAMING, *_AROUND),
    (("eating", "looking for", "searching for", "chewing"), ("grass", "food", "its food", "leaves", "a bone", "fish")),
    (("taking off from", "landing on", "drinking from"), ("the water", "the pond", "the river", "the ground")),
    (("with",), ("long", "short", "soft", "thick", "dark", "pale", "wet"), ("fur", "legs", "hair", "ears", "tail")),
    (("looking around", "playing with its friends", "protecting its home", "scared by the noise"),),
)
_DRIVING = _words("""driving parked standing speeding rolling drifting racing crossing arriving sailing floating parking
    leaving flying landing waiting returning""")
_VEHICLES: tuple[Pattern, ...] = (
    (_DRIVING, (*_GROUNDS, "around the bend", "around the corner", "across the water", "in a race")),
    (_DRIVING, *_AROUND),
    (("carrying", "full of", "loaded with", "waiting for"), (*_STUFFS, "tourists", "workers", "luggage")),
    (("driven by", "owned by", "fixed by", "painted by"), ("somebody", "a friend", "a company", "an old man")),
)
_THINGS: tuple[Pattern, ...] = (
    (_GROUNDS,),
    (("lying", "standing", "hanging", "leaning", "stored", "displayed", "kept", "floating"), (*_GROUNDS, "there")),
    (("used", "bought", "built", "needed"), ("for", "by"), ("children", "cooking", "work", "fun", "somebody")),
)
_OF_PEOPLE, _OF_ANIMALS, _OF_VEHICLES, _OF_THINGS = (
    (*own, *_GENERAL) for own in (_PEOPLE, _ANIMALS, _VEHICLES, _THINGS)
)


def distractor_phrases_for(noun: str, broader: Sequence[str]) -> tuple[Pattern, ...]:
    """Patterns of what people say after such a noun; the same tuple for every noun of a kind."""
    if is_person(noun):
        return _OF_PEOPLE
    if "animal" in broader or noun == "animal":
        return _OF_ANIMALS
    return _OF_VEHICLES if "vehicle" in broader or noun == "vehicle" else _OF_THINGS
