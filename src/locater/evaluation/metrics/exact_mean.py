"""A mean that no order of adding can change in its last bit."""

_UNIT_BITS = 1074  # every finite float64 is a whole multiple of 2 ** -1074


class ExactMean:
    """The mean of float64 values: the sum is held as a whole number, and rounded once, at the end."""

    def __init__(self) -> None:
        self.count = 0
        self._total = 0  # in units of 2 ** -1074

    def add(self, value: float) -> None:
        """Take one more value."""
        numerator, denominator = value.as_integer_ratio()
        self._total += numerator << (_UNIT_BITS + 1 - denominator.bit_length())
        self.count += 1

    @property
    def value(self) -> float | None:
        """The mean, correctly rounded; None of nothing."""
        return self._total / (self.count << _UNIT_BITS) if self.count else None


def mean(values: list[float]) -> float | None:
    """The correctly rounded mean of a list; None of nothing."""
    result = ExactMean()
    for value in values:
        result.add(value)
    return result.value
