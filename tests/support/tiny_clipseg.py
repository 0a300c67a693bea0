"""An image-level referring model small enough for a test."""

import json
from pathlib import Path

import torch


def tiny_clipseg(folder: Path) -> Path:
    """A randomly initialised CLIPSeg of a few thousand weights, saved as transformers saves any."""
    from transformers import (
        CLIPSegConfig,
        CLIPSegForImageSegmentation,
        CLIPSegProcessor,
        CLIPTokenizer,
        ViTImageProcessor,
    )

    folder.mkdir(parents=True, exist_ok=True)
    letters = [*"adeghot", *(f"{letter}</w>" for letter in "adeghot")]
    vocabulary = {word: number for number, word in enumerate([*letters, "<|startoftext|>", "<|endoftext|>"])}
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    tokenizer = CLIPTokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"), model_max_length=16)
    shared = {"hidden_size": 32, "intermediate_size": 32, "num_attention_heads": 2, "num_hidden_layers": 3}
    numbers = {"bos_token_id": len(letters), "eos_token_id": len(letters) + 1, "pad_token_id": len(letters) + 1}
    config = CLIPSegConfig(
        text_config={**shared, **numbers, "vocab_size": len(vocabulary), "max_position_embeddings": 16},
        vision_config={**shared, "image_size": 32, "patch_size": 8},
        projection_dim=16,
        reduce_dim=16,
        extract_layers=[0, 1, 2],
        decoder_num_attention_heads=2,
        decoder_intermediate_size=32,
    )
    torch.manual_seed(0)
    CLIPSegForImageSegmentation(config).save_pretrained(folder)
    size = {"height": 32, "width": 32}
    CLIPSegProcessor(ViTImageProcessor(size=size), tokenizer).save_pretrained(folder)  # type: ignore[no-untyped-call]
    return folder
