"""Words that hold sentences together."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FUNCTION_WORDS = (
    _words("a an the this that these those another each every some any no his her its their my our your")
    | _words("he she it they someone somebody something everyone there who which one two three")
    | _words("is are was were be been being am 's 're")
    | _words(
        "about above across after against along amid among around at before behind below beneath beside besides "
        "between beyond by cross down during for from in inside into like near of off on onto out outside over past "
        "through to toward towards under underneath until up upon with within without while when as then and or"
    )
)
