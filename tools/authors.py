"""The authors' trained weights as a checkpoint of the preset `authors`.

    python -m tools.authors LOCATER.pth vocab.txt --out FOLDER

`vocab.txt` is that of google-bert/bert-base-uncased, whose word pieces their text encoder numbers.
"""

import argparse
import re
import sys
from pathlib import Path

from torch import Tensor

from locater.config import preset
from locater.errors import LocaterError
from locater.model.build import build
from locater.model.checkpoint import save_pretrained
from locater.model.locater import Locater
from locater.model.visual.pretrained import misfits
from tools.convert import pickled_tensors

_BLOCK = {
    "attn.qkv": "attention.qkv",
    "attn.proj": "attention.out",
    "mlp.fc1": "mlp.0",
    "mlp.fc2": "mlp.2",
    "norm1": "norm1",
    "norm2": "norm2",
}
_WRITER = {
    "c_func.0.fc1": "candidate.0",
    "c_func.0.fc2": "candidate.2",
    "c_func.1": "candidate_norm",
    "o_func.0.q": "gate_of_patch",
    "o_func.0.k": "gate_of_cell",
    "m_func.fc1": "kept.0",
    "m_func.fc2": "kept.2",
    "post_func.fc1": "written.0",
    "post_func.fc2": "written.2",
    "norm1": "frame_norm",
    "norm2": "cell_norm",
}
# Theirs -> ours, modules; numbers in a name are kept, in their order.
_MODULES = {
    "lang_encoder.emb": "text.embedding",
    "lang_encoder.norm": "text.norm",
    "vision_encoder.patch_embed.proj": "visual.patch_embedding",
    "vision_encoder.norm": "visual.norm",
    "vision_encoder.pre_logits.fc": "visual.representation",
    **{f"vision_encoder.blocks.#.{a}": f"visual.blocks.#.{b}" for a, b in _BLOCK.items()},
    "trans_fusion.#.norm": "fusion.steps.#.norm",
    **{f"trans_fusion.#.blocks.#.{a}": f"fusion.steps.#.joint.#.{b}" for a, b in _BLOCK.items()},
    **{f"trans_fusion.#.pos_blocks.#.{a}": f"fusion.steps.#.refine.#.{b}" for a, b in _BLOCK.items()},
    **{f"globalmem_writer.{a}": f"memory.global_write.{b}" for a, b in _WRITER.items()},
    **{f"localmem_writer.{a}": f"memory.local_write.{b}" for a, b in _WRITER.items()},
    "localmem_writer.mask_enc": "memory.mask_embedding",
    "mem_reader.0.q": "memory.to_query",
    "mem_reader.0.k": "memory.to_key",
    "mem_reader.0.v": "memory.to_value",
    "mem_reader.0.proj": "memory.out",
    "mem_reader.1": "memory.norm",
    "aux_decoders.#.0": "auxiliary.heads.#.0",
    "aux_decoders.#.1": "auxiliary.heads.#.1",
    "aux_decoders.#.3": "auxiliary.heads.#.3",
    "query_generator.vis_proj.fc1": "decoder.from_context.0",
    "query_generator.vis_proj.fc2": "decoder.from_context.2",
    "query_generator.lin_proj.fc1": "decoder.from_words.0",
    "query_generator.lin_proj.fc2": "decoder.from_words.2",
    "query_generator.value_proj.fc1": "decoder.values.0",
    "query_generator.value_proj.fc2": "decoder.values.2",
    "query_generator.norm": "decoder.norm",
    "main_dec_net.q": "decoder.of_patch",
    "main_dec_net.k": "decoder.of_query",
}


def translated(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Their tensors under our names; those that no name is known for keep theirs, and will not fit."""
    found: dict[str, Tensor] = {}
    for saved, value in tensors.items():
        name = saved.removeprefix("module.")
        module, _, leaf = name.rpartition(".")
        if name.startswith("vision_encoder.head."):
            continue  # a classifier that they never ask
        if name.endswith("modal_embed"):
            place = name.split(".")[1]
            found[f"fusion.steps.{place}.visual_type"], found[f"fusion.steps.{place}.word_type"] = value[0]
        elif name == "vision_encoder.cls_token":
            found["visual.class_token"] = value
        elif name == "vision_encoder.pos_embed":
            found["visual.positions"] = value
        elif module == "lang_encoder.lang_model":
            found[f"text.lstm.{leaf}"] = value
        elif match := re.fullmatch(r"main_dec_net\.mask_head\.(\d+)", module):
            found[f"decoder.convolutions.{int(match[1]) // 2}.{leaf}"] = value  # theirs count the upsamplings too
        else:
            is_point = module.startswith("aux_decoders") and value.ndim == 4  # of one pixel: a linear map
            found[f"{_ours(module)}.{leaf}"] = value[:, :, 0, 0] if is_point else value
    return found


def _ours(module: str) -> str:
    """Our name of their module; theirs where none is known."""
    for theirs, ours in _MODULES.items():
        pattern = r"(\d+)".join(re.escape(part) for part in theirs.split("#"))
        if match := re.fullmatch(pattern, module):
            return ours.replace("#", "{}").format(*match.groups())
    return module


def fill(model: Locater, tensors: dict[str, Tensor], origin: str) -> None:
    """Copy their tensors into the network; all fit, or none is copied and the misfits are named."""
    given = translated(tensors)
    expected = model.state_dict()
    missing, extra = sorted(expected.keys() - given.keys()), sorted(given.keys() - expected.keys())
    problems = misfits(expected, given, missing, extra, names={})
    if problems:
        raise LocaterError(f"{origin} does not fit the preset authors: {problems}.")
    model.load_state_dict(given)


def convert(source: Path, vocabulary: Path, out: Path) -> None:
    """Write a checkpoint folder from their file and BERT's vocabulary."""
    pieces = vocabulary.read_text(encoding="utf-8").splitlines()
    tensors = pickled_tensors(source)
    model = build(preset("authors", {"text": {"vocabulary": pieces}}), seed=0)
    fill(model, tensors, str(source))
    save_pretrained(model, out)


def main() -> None:
    """Convert the files that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("vocabulary", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    try:
        convert(given.source, given.vocabulary, given.out)
    except (LocaterError, OSError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
