from locater.text.words import Vocabulary, split_words


def test_words_are_split_at_spaces_and_punctuation_but_not_inside() -> None:
    assert split_words("The left-hand dog's ball, here.") == ["The", "left-hand", "dog's", "ball", "here"]
    assert split_words("le chien à gauche") == ["le", "chien", "à", "gauche"]
    assert split_words(" ?! ") == []


def test_a_vocabulary_does_not_depend_on_the_order_or_case_of_its_text() -> None:
    one, other = Vocabulary.of_text(["A dog", "the Cat"]), Vocabulary.of_text(["THE cat", "a dog"])
    assert one.words == other.words == ("a", "cat", "dog", "the")
    assert one.number("Dog") == 4 and len(one) == 6
    assert one.number("zebra") == Vocabulary.UNKNOWN
