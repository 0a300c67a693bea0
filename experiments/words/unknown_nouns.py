"""How many sentences are refused for a noun that a checkpoint does not understand: real English ones, and others.

    python -m experiments.words.unknown_nouns CHECKPOINT [--queries a2d_annotation.txt] [--show]

The English ones are those of `davis:ROOT` and, where the file is given, A2D Sentences' queries; the others lie beside
this program.
"""

import argparse
import csv
import sys
from collections.abc import Sequence
from pathlib import Path

from locater.datasets.davis import described_sequences
from locater.model.checkpoint import from_pretrained
from locater.model.text import TextEncoder
from locater.text.words import split_words

NOT_ENGLISH = Path(__file__).with_name("sentences_not_english.txt")


def refused(text: TextEncoder, sentences: Sequence[str]) -> list[str]:
    """Those of the sentences that inference stops at."""
    return [sentence for sentence in sentences if split_words(sentence) and text.tokenize([sentence]).not_understood]


def main() -> int:
    """0, always: the numbers are the result."""
    parser = argparse.ArgumentParser()
    parser.add_argument("checkpoint")
    parser.add_argument("--queries", type=Path, help="A2D Sentences' a2d_annotation.txt")
    parser.add_argument("--show", action="store_true", help="also print the sentences that are not as they should be")
    arguments = parser.parse_args()
    sets = {"davis": [said for each in described_sequences().values() for said in each.sentences.values()]}
    if arguments.queries is not None:
        with arguments.queries.open(encoding="utf-8", newline="") as file:
            sets["a2d-sentences"] = [row["query"] for row in csv.DictReader(file)]
    sets["not English"] = NOT_ENGLISH.read_text(encoding="utf-8").splitlines()
    text = from_pretrained(arguments.checkpoint).text
    for name, sentences in sets.items():
        stopped = refused(text, sentences)
        print(f"{name:<16}{len(stopped):>5} of {len(sentences):>5} refused, {len(stopped) / len(sentences):.1%}")
        if arguments.show:
            wrong = stopped if name != "not English" else sorted(set(sentences) - set(stopped))
            print("".join(f"    {sentence}\n" for sentence in wrong), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
