"""Checkpoints as the field keeps them: a folder of config.json, model.safetensors and a README model card."""

import json
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import safetensors
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from locater.compute.int8 import dequantize_int8, quantize_int8
from locater.config import HuggingFaceConfig, LSTMConfig, ModelConfig, VectorsConfig, parse_config
from locater.errors import LocaterError
from locater.io.atomic import atomic_path
from locater.io.results_folder import check_results_folder, results_folder
from locater.io.text_files import read_json
from locater.model.build import assemble, empty_text, least_numbers
from locater.model.locater import Locater
from locater.model.second_look import SecondLook, packed
from locater.model.text import HuggingFaceEncoder, LSTMEncoder
from locater.model.word_embedding import PretrainedEmbedding, rows_in_table
from locater.presets import preset_names
from locater.text.table import unpack_words
from locater.text.words import Vocabulary

_EMBEDDED, _LEARNED = "text.embedding.weight", "text.embedding.learned.weight"
_ROWS_OF_WORDS = {_EMBEDDED, _LEARNED}
_LETTERS, _PLACES_OF_WORDS = "text.embedding.letters", "text.embedding.trained_rows"
_FIRST_WORD = Vocabulary.UNKNOWN + 1
# What the first checkpoints call things; the weights that ship have these names.
_OLD_MEMORY_SETTINGS = {"digest": "read_mlp", "doings": "motion_targets"}
_OLD_TENSORS = {"memory.digest.": "memory.read_mlp.", "doings.": "motion_targets."}
CONFIG, WEIGHTS, CARD, TEXT_ENCODER = "config.json", "model.safetensors", "README.md", "text_encoder"
SECOND_LOOK = "second_look.safetensors"  # not every checkpoint has one
_MOST_KNOWN = 10_000  # nouns of a second look, which has a table of their pairs
_LARGEST_CONFIG = 64 * 2**20  # bytes: a vocabulary of a million words
_CHECKPOINT = (CONFIG, WEIGHTS)  # a folder that holds both is one


def from_pretrained(name_or_path: str | Path) -> Locater:
    """The network of a checkpoint: a local folder, a name shipped with the package, or a hub name (`owner/name`)."""
    folder = find_checkpoint(name_or_path)
    config = config_of(folder)
    tensors = _tensors(folder / WEIGHTS)
    # Before anything is built: what asks for more than the file holds may ask for all the memory there is.
    if least_numbers(config) > sum(tensor.numel() for tensor in tensors.values()):
        raise LocaterError(f"{folder / CONFIG} describes a larger network than {WEIGHTS} holds; get both again.")
    text_model = empty_text(folder / TEXT_ENCODER) if isinstance(config.text, HuggingFaceConfig) else None
    model = assemble(config, text_model)
    _fill(model, tensors, folder / WEIGHTS)
    return model.eval()


def save_pretrained(
    model: Locater,
    folder: str | Path,
    card: str | None = None,
    half: bool = False,
    second_look: SecondLook | None = None,
) -> None:
    """Write `model`, and its second look if it has one, as a checkpoint folder, whole or not at all.

    `half` stores fp16, as shipped weights are, and of a refiner the matrices and kernels in int8: it has as many
    weights as all the rest, and its masks hardly feel it (docs/default.md). An earlier checkpoint is replaced; a
    folder of anything else is refused.
    """
    with results_folder(Path(folder), "save_pretrained", force=True, known_by=_CHECKPOINT) as partial:
        config = json.dumps(model.config.model_dump(mode="json"), indent=2, ensure_ascii=False)
        (partial / CONFIG).write_text(config + "\n", encoding="utf-8")
        tensors: dict[str, Tensor] = {}
        for name, tensor in model.state_dict().items():
            is_int8 = half and name.startswith("refiner.") and tensor.ndim > 1
            tensors |= quantize_int8(name, tensor) if is_int8 else {name: _stored(tensor, half)}
        save_file(tensors, partial / WEIGHTS, metadata={"format": "pt"})
        if second_look is not None:
            save_second_look(second_look, partial / SECOND_LOOK)
        (partial / CARD).write_text(card if card is not None else default_card(model), encoding="utf-8")
        if isinstance(model.text, HuggingFaceEncoder):
            model.text.model.config.save_pretrained(partial / TEXT_ENCODER)
            model.text.tokenizer.save_pretrained(partial / TEXT_ENCODER)


def check_checkpoint_folder(folder: Path, force: bool) -> None:
    """Nothing, where `save_pretrained` may write; an earlier checkpoint needs `force`."""
    check_results_folder(folder, force=force, known_by=_CHECKPOINT)


def shipped_checkpoints() -> list[str]:
    """The names of the checkpoints inside the package."""
    folder = resources.files("locater") / "checkpoints"
    return sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []


def find_checkpoint(name_or_path: str | Path) -> Path:
    """The folder behind a path, a shipped name or a hub name."""
    path, name = Path(name_or_path), str(name_or_path)
    if path.is_dir():
        return path
    if name in shipped_checkpoints():
        return Path(str(resources.files("locater") / "checkpoints" / name))
    if name in preset_names():
        raise LocaterError(
            f"'{name}' is a preset, a network without weights: `locater init {name} --out DIR` makes one."
        )
    if name.count("/") == 1 and not name.startswith((".", "/", "~")):
        return _from_hub(name)
    shipped = ", ".join(shipped_checkpoints()) or "none yet"
    raise LocaterError(f"There is no checkpoint '{name}': give a folder, a hub name or a shipped name ({shipped}).")


def with_words_of(name_or_path: str | Path, expressions: Sequence[str]) -> Locater:
    """The network of a checkpoint, with vectors of their own for the words of some sentences that it has none for.

    It reads every sentence as the checkpoint does until it learns: a new word begins as it was read. Where there is no
    word table an unknown word was read as nothing in particular, and begins at random. A word that is read as several
    others stays so.
    """
    start = from_pretrained(name_or_path)
    if not isinstance(start.text, LSTMEncoder) or not isinstance(start.config.text, LSTMConfig):
        return start
    known, vocabulary = start.config.text.vocabulary, start.text.vocabulary
    said = (word for word in Vocabulary.of_text(expressions).words if word not in known)
    new = [word for word in said if len(vocabulary.read(word)) == 1]
    text = start.config.text.model_copy(update={"vocabulary": (*known, *new)})
    model = assemble(start.config.model_copy(update={"text": text}), None)
    tensors, own = start.state_dict(), model.state_dict()
    if isinstance(start.text.embedding, PretrainedEmbedding):
        learned, rows = start.text.embedding.as_read(new)
        tensors[_LEARNED] = torch.cat([tensors[_LEARNED], learned])
        tensors[_PLACES_OF_WORDS] = torch.cat([tensors[_PLACES_OF_WORDS], rows])
    else:
        tensors[_EMBEDDED] = torch.cat([tensors[_EMBEDDED], own[_EMBEDDED][len(tensors[_EMBEDDED]) :]])
    model.load_state_dict(tensors)
    return model.eval()


def load_to_go_on(model: Locater, folder: Path) -> None:
    """Fill `model` from a checkpoint of the same network, perhaps with another training text.

    Words of both keep what was learned for them, and new ones begin as they are in `model`.
    """
    _fill(model, _tensors_for(model, folder), folder / WEIGHTS)


def load_what_fits(model: Locater, folder: Path, parts: Sequence[str] = ()) -> None:
    """Fill `model` with what a checkpoint of another network has for it, words as above; the rest stays as it is.

    `parts` are the only ones that are filled, as `visual` and `text`; all of them where none is named.
    """
    tensors, own = _tensors_for(model, folder), model.state_dict()
    has = {name for name, _ in model.named_children()}
    if unknown := [part for part in parts if part not in has]:
        raise LocaterError(f"The network has no part '{unknown[0]}'; it has {', '.join(sorted(has))}.")
    fitting = {
        name: value
        for name, value in tensors.items()
        if name in own and own[name].shape == value.shape and (not parts or name.split(".")[0] in parts)
    }
    if not fitting:
        raise LocaterError(f"{folder} has nothing for this network; begin with a checkpoint of the same preset.")
    model.load_state_dict(own | fitting)


def trained_words(folder: Path) -> tuple[str, ...]:
    """The words of its training text that a checkpoint has learned vectors for, in their order."""
    return _trained_words(config_of(folder))


def with_table_of(config: ModelConfig, folder: Path) -> ModelConfig:
    """The config with room for a checkpoint's word table, where it names no other."""
    before = config_of(folder).text
    if isinstance(config.text, VectorsConfig) and isinstance(before, VectorsConfig) and config.text.table is None:
        sizes = {name: getattr(before, name) for name in ("words", "vector_width", "letters")}
        return config.model_copy(update={"text": config.text.model_copy(update=sizes)})
    return config


def _tensors_for(model: Locater, folder: Path) -> dict[str, Tensor]:
    """A checkpoint's tensors, the rows of words as `model` numbers them."""
    tensors = _tensors(folder / WEIGHTS)
    words, before = (_trained_words(config) for config in (model.config, config_of(folder)))
    if words and before and words != before:
        own = model.state_dict()
        places = {word: place for place, word in enumerate(before, start=_FIRST_WORD)}
        known = [place for place, word in enumerate(words, start=_FIRST_WORD) if word in places]
        for name in _ROWS_OF_WORDS & own.keys() & tensors.keys():
            rows = own[name].clone()
            rows[:_FIRST_WORD] = tensors[name][:_FIRST_WORD]
            rows[known] = tensors[name][[places[words[place - _FIRST_WORD]] for place in known]].to(rows.dtype)
            tensors[name] = rows
        if _LETTERS in tensors:
            tensors[_PLACES_OF_WORDS] = rows_in_table(unpack_words(tensors[_LETTERS]), words)
    return tensors


def load_second_look(folder: Path) -> SecondLook | None:
    """The second look of a checkpoint; None where it has none."""
    path = folder / SECOND_LOOK
    if not path.exists():
        return None
    tensors = _tensors(path)
    try:
        width, channels = tensors["from_crop.weight"].shape
        familiar, meaning_width = tensors["familiar"].shape
        for name in ("taught", "rare"):  # files of networks that nobody tuned, or that learned few nouns, have none
            tensors.setdefault(name, tensors["familiar"][:0])
        (taught, _), (rare, _) = tensors["taught"].shape, tensors["rare"].shape
    except (KeyError, ValueError):
        raise LocaterError(f"{path} is no second look; remove it, or make one with `locater second-look`.") from None
    largest, known = max(tensor.numel() for tensor in tensors.values()), familiar + rare
    if max(channels, meaning_width, width, known, taught) > largest or known > _MOST_KNOWN:
        raise LocaterError(f"{path} is no second look; remove it, or make one with `locater second-look`.")
    tensors.setdefault("rivals", packed(torch.zeros(known, known, dtype=torch.bool)))
    look = SecondLook(channels, meaning_width, width, familiar, taught, rare)
    _fill(look, tensors, path)
    return look.float().eval()


def save_second_look(look: SecondLook, path: Path) -> None:
    """Write it in fp16, whole or not at all."""
    with atomic_path(path) as partial:
        tensors = {name: _stored(tensor, half=True) for name, tensor in look.state_dict().items()}
        save_file(tensors, partial, metadata={"format": "pt"})


def load_strictly(model: torch.nn.Module, path: Path) -> None:
    """Fill `model` from a safetensors file; a missing, extra or misfitting tensor is an error that lists them."""
    _fill(model, _tensors(path), path)


def _fill(model: torch.nn.Module, tensors: dict[str, Tensor], path: Path) -> None:
    own = model.state_dict()
    both = own.keys() & tensors.keys()
    problems = (
        [f"missing {name}" for name in own.keys() - tensors.keys()]
        + [f"extra {name}" for name in tensors.keys() - own.keys()]
        + [
            f"misshapen {name} {tuple(tensors[name].shape)}, not {tuple(own[name].shape)}"
            for name in both
            if own[name].shape != tensors[name].shape
        ]
        + [
            f"mistyped {name} {tensors[name].dtype}, not {own[name].dtype}"
            for name in both
            if own[name].is_floating_point() != tensors[name].is_floating_point() or tensors[name].is_complex()
        ]
    )
    if problems:
        listed = "; ".join(sorted(problems)[:10])
        raise LocaterError(f"{path} does not fit its config in {len(problems)} tensors: {listed}.")
    model.load_state_dict(tensors)


def config_of(folder: Path) -> ModelConfig:
    """The settings of a checkpoint's network."""
    values = read_json(folder / CONFIG, "a checkpoint folder needs it whole", _LARGEST_CONFIG)
    if isinstance(values, dict) and isinstance(values.get("memory"), dict):
        values["memory"] = {_OLD_MEMORY_SETTINGS.get(key, key): value for key, value in values["memory"].items()}
    return parse_config(values, str(folder / CONFIG))


def _trained_words(config: ModelConfig) -> tuple[str, ...]:
    """The words of the training text that have vectors of their own, in their order."""
    return tuple(config.text.vocabulary) if isinstance(config.text, LSTMConfig) else ()


def _tensors(path: Path) -> dict[str, Tensor]:
    if not path.is_file():
        raise LocaterError(f"{path} is missing; a checkpoint folder needs its weights.")
    try:
        stored = load_file(path)
        tensors = dequantize_int8({_present_name(name): tensor for name, tensor in stored.items()})
    except (OSError, RuntimeError, ValueError, KeyError, OverflowError, safetensors.SafetensorError):
        raise LocaterError(
            f"{path} is no safetensors file or is damaged; other formats can run code and are not read."
        ) from None
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not _is_finite(tensor):
            raise LocaterError(f"{path} holds numbers that are not finite, in {name}; it is damaged, get it again.")
    return tensors


def _is_finite(tensor: Tensor) -> bool:
    """Whether every number is; a sum is ten times as fast as looking at each, and looks closer only where it must."""
    return bool(tensor.float().sum().isfinite()) or bool(tensor.isfinite().all())


def _present_name(name: str) -> str:
    """What a stored tensor is called now."""
    for old, new in _OLD_TENSORS.items():
        if name.startswith(old):
            return new + name.removeprefix(old)
    return name


def default_card(model: Locater) -> str:
    """A model card with what the config tells."""
    config = model.config
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return f"""---
library_name: locater
pipeline_tag: video-segmentation
tags: [language-guided video segmentation, referring video object segmentation]
---
# A LOCATER checkpoint

{parameters / 1e6:.1f} million parameters; {config.visual.kind} at {config.image_size} pixels, {config.text.kind} for
the words, {config.global_cells} global and {config.local_cells} local memory cells, write rule `{config.memory.write}`.

```python
import locater

track = locater.load("PATH").track("clip.mp4", "the dog on the left")
```

Training data, measured quality and limits are unknown to the program that wrote this card: fill them in.
"""


def _stored(tensor: Tensor, half: bool) -> Tensor:
    tensor = tensor.detach().cpu().contiguous()
    return tensor.half() if half and tensor.is_floating_point() else tensor.clone()


def _from_hub(name: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, allow_patterns=[CONFIG, WEIGHTS, SECOND_LOOK, CARD, f"{TEXT_ENCODER}/*"]))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError, ValueError):
        raise LocaterError(f"'{name}' is no local folder and cannot be had from the hub; check the name.") from None
