"""How much of a thing has the colour that people say it has, and how much has others? Phrases of COCO val's captions.

    python -m experiments.words.colours_said ROOT

Of phrases that `coco-val` asks and of those that it does not, by least share: how many would be doubted with the colour
that was said, and with the others that no caption of the picture names.
"""

import argparse
from pathlib import Path

from locater.datasets.coco_val import CocoVal
from locater.inference.seen_colours import LEAST_SHARE, shares_of
from locater.io.text_files import read_json
from locater.text.colour_names import COLOUR_WORDS, SAME_COLOURS
from locater.text.said_colours import said_colours
from locater.text.words import split_words

EVERY_QUESTION = 10**6
LEAST = (LEAST_SHARE / 4, LEAST_SHARE / 2, LEAST_SHARE, 2 * LEAST_SHARE)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path, help="The folder of `coco-val`.")
    root = parser.parse_args().root
    asked = {info.key for info in CocoVal(root, "val").samples()}
    captions = read_json(root / "captions.json")
    everything = CocoVal(root, "val", EVERY_QUESTION)
    found: dict[bool, tuple[list[float], list[float]]] = {True: ([], []), False: ([], [])}
    for info in everything.samples():
        words = split_words(info.expression)
        said = {colour.word for colour in said_colours(words)} if info.kind == "phrase" else set()
        if not said:
            continue
        sample = everything.load(info)
        shares = shares_of(next(iter(sample.frames.frames())).pixels, sample.masks[0]).tolist()
        number = info.key.split("/")[1]
        others = {
            word for text in captions.get(number, captions.get(number.zfill(12), [])) for word in split_words(text)
        }
        named = {SAME_COLOURS.get(word.lower(), word.lower()) for word in others}
        right, wrong = found[info.key in asked]
        for colour, share in zip(COLOUR_WORDS, shares, strict=True):
            if colour in said:
                right.append(share)
            elif colour not in named:
                wrong.append(share)
    for is_asked, (right, wrong) in found.items():
        print(f"{'asked by coco-val' if is_asked else 'not asked'}: {len(right)} said, {len(wrong)} not said")
        for least in LEAST:
            doubted = [100 * sum(share < least for share in some) / len(some) for some in (right, wrong)]
            print(f"  least share {least:.3f}: doubted if said {doubted[0]:.1f} %, if not {doubted[1]:.1f} %")


if __name__ == "__main__":
    main()
