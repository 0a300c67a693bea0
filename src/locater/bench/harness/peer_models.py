"""The peers: each as its own library builds and runs it, fed as well as its code allows.

Their processors are left out: frames come at the right size already, as ours do, and words as numbers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

Work = Callable[[], Tensor]  # mask logits of a whole clip, (T, ..., h, w)


@dataclass(frozen=True)
class Built:
    """A peer with random weights, ready for a clip of so many frames."""

    on: Callable[[int], Work]
    size: str
    millions: float


@dataclass(frozen=True)
class Peer:
    """One alternative."""

    name: str
    needs: tuple[str, ...]  # classes of transformers
    reads: str  # what tells it the object, and what it sees of the video
    batched: str  # what of it takes several frames at once
    build: Callable[[bool, torch.device, torch.dtype], Built]  # is_quick: a tiny one of the same kind
    note: str = ""


def _ready(kind: Any, config: Any, device: torch.device, dtype: torch.dtype) -> Any:
    """A model of random weights, drawn on the device: the largest takes half a minute on a CPU."""
    with device:
        return kind(config).to(device=device, dtype=dtype).eval()


def _built(on: Callable[[int], Work], side: int | str, *models: Any) -> Built:
    return Built(on, str(side), sum(p.numel() for model in models for p in model.parameters()) / 1e6)


def _frames(count: int, side: int, device: torch.device, dtype: torch.dtype) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    coarse = torch.randn(count, 3, 8, 8, generator=generator).to(device)
    return torch.nn.functional.interpolate(coarse, size=(side, side), mode="bilinear").to(dtype)


# ---- CLIPSeg ---------------------------------------------------------------------------------------------------------


def _clipseg(is_quick: bool, device: torch.device, dtype: torch.dtype) -> Built:
    from transformers import CLIPSegConfig, CLIPSegForImageSegmentation

    config: Any = CLIPSegConfig()
    if is_quick:
        small = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 3, "num_attention_heads": 2}
        config = CLIPSegConfig(
            text_config=small,
            vision_config={**small, "image_size": 64, "patch_size": 16},
            projection_dim=32,
            reduce_dim=16,
            extract_layers=[0, 1, 2],
            decoder_num_attention_heads=2,
            decoder_intermediate_size=32,
        )
    side = 64 if is_quick else 352  # its processor's, where the config has CLIP's 224
    model = _ready(CLIPSegForImageSegmentation, config, device, dtype)
    end = config.text_config.eos_token_id
    numbers = torch.tensor([[*range(300, 321), end]], device=device)

    def on(count: int) -> Work:
        pixels = _frames(count, side, device, dtype)

        def work() -> Tensor:
            words = model.get_conditional_embeddings(
                batch_size=1, input_ids=numbers, attention_mask=torch.ones_like(numbers)
            )
            found: Tensor = model(
                pixel_values=pixels,
                conditional_embeddings=words.expand(count, -1),
                interpolate_pos_encoding=True,
            ).logits
            return found

        return work

    return _built(on, side, model)


# ---- SAM 2, video ----------------------------------------------------------------------------------------------------


def _small_sam2_vision() -> Any:
    from transformers import Sam2HieraDetConfig, Sam2VisionConfig

    trunk = Sam2HieraDetConfig(
        hidden_size=8,
        num_attention_heads=1,
        image_size=[128, 128],
        blocks_per_stage=[1, 1, 2, 1],
        embed_dim_per_stage=[8, 16, 32, 64],
        num_attention_heads_per_stage=[1, 1, 2, 4],
        window_size_per_stage=[4, 4, 4, 4],
        global_attention_blocks=[3],
    )
    sizes = [[32, 32], [16, 16], [8, 8]]
    return Sam2VisionConfig(backbone_config=trunk, backbone_channel_list=[64, 32, 16, 8], backbone_feature_sizes=sizes)


def _sam2_video(is_quick: bool, device: torch.device, dtype: torch.dtype) -> Built:
    from transformers import Sam2VideoConfig, Sam2VideoModel

    config: Any = Sam2VideoConfig()
    if is_quick:
        config = Sam2VideoConfig(
            vision_config=_small_sam2_vision(),
            image_size=128,
            prompt_encoder_config={"image_size": 128},
            memory_attention_rope_feat_sizes=[8, 8],
            memory_attention_num_layers=1,
        )
    model = _ready(Sam2VideoModel, config, device, dtype)
    side = int(config.image_size)

    def on(count: int) -> Work:
        video = _frames(count, side, device, dtype)
        return lambda: _tracked_by_sam2(model, video)

    return _built(on, side, model)


def _session(kind: Any, video: Tensor, **more: Any) -> Any:
    """A session of SAM 2 or 3 over a video; `kind` is Any, as its types ask for a FloatTensor in every precision."""
    side = video.shape[-1]
    return kind(
        video=video,
        video_height=side,
        video_width=side,
        inference_device=video.device,
        inference_state_device=video.device,
        video_storage_device=video.device,
        dtype=video.dtype,
        **more,
    )


def _tracked_by_sam2(model: Any, video: Tensor) -> Tensor:
    """Masks of the object in a box of the first frame; all frames go through the image encoder in one batch."""
    from transformers import Sam2VideoInferenceSession

    count, _, side, _ = video.shape
    session = _session(Sam2VideoInferenceSession, video, max_vision_features_cache_size=count)
    seen = model.get_image_features(video)
    for t in range(count):
        session.cache.cache_vision_features(
            t,
            {
                "vision_feats": [maps[:, t : t + 1] for maps in seen.fpn_hidden_states],
                "vision_pos_embeds": [maps[:, :1] for maps in seen.fpn_position_encoding],
            },
        )
    box = torch.tensor([[[[0.2, 0.2], [0.6, 0.6]]]], device=video.device, dtype=video.dtype) * side
    corners = torch.tensor([[[2, 3]]], device=video.device, dtype=torch.int32)
    session.add_point_inputs(session.obj_id_to_idx(1), 0, {"point_coords": box, "point_labels": corners})
    session.obj_with_new_inputs = [1]
    return torch.cat([model(inference_session=session, frame_idx=t).pred_masks for t in range(count)])


# ---- SAM 3, video ----------------------------------------------------------------------------------------------------


def _sam3_video(is_quick: bool, device: torch.device, dtype: torch.dtype) -> Built:
    from transformers import Sam3VideoConfig, Sam3VideoModel

    config: Any = _small_sam3() if is_quick else Sam3VideoConfig()
    model = _ready(Sam3VideoModel, config, device, dtype)
    model.hotstart_delay = 0  # random weights never find again what they track, which is no reason to drop it
    side = int(config.detector_config.vision_config.backbone_config.image_size)

    def on(count: int) -> Work:
        video = _frames(count, side, device, dtype)
        return lambda: _tracked_by_sam3(model, video)

    return _built(on, side, model)


def _tracked_by_sam3(model: Any, video: Tensor) -> Tensor:
    """Masks of one object that is request for by a sentence; frame by frame, since its code takes one at a time."""
    from transformers import Sam3VideoInferenceSession

    count = len(video)
    session = _session(Sam3VideoInferenceSession, video)
    prompt = session.add_prompt("a sentence")
    numbers = torch.tensor([[*range(300, 322)]], device=video.device)
    session.prompt_input_ids[prompt] = numbers
    session.prompt_attention_masks[prompt] = torch.ones_like(numbers)
    masks = []
    for t in range(count):
        with _OneDetection(model, is_kept=t == 0):
            found = model(inference_session=session, frame_idx=t)
        masks += [torch.as_tensor(mask).float().flatten(0, -3)[:1] for mask in found.obj_id_to_mask.values()]
    return torch.stack([mask.squeeze() for mask in masks]) if masks else video.new_zeros(1)


class _OneDetection:
    """The surest detection alone counts, in the first frame: with random weights none or hundreds would.

    The detector runs in every frame all the same.
    """

    def __init__(self, model: Any, is_kept: bool) -> None:
        self._model = model
        self._is_kept = is_kept

    def __enter__(self) -> None:
        model, own = self._model, self._model.run_detection
        threshold = model.score_threshold_detection

        def one(*arguments: Any, **named: Any) -> Any:
            model.score_threshold_detection, model.det_nms_thresh = -1.0, 0.0
            found = own(*arguments, **named)
            model.score_threshold_detection = threshold
            return {prompt: self._first(each) for prompt, each in found.items()}

        model.run_detection = one

    def _first(self, found: dict[str, Tensor]) -> dict[str, Tensor]:
        best = found["scores"].argsort(descending=True)[: int(self._is_kept)]
        return {**{name: values[best] for name, values in found.items()}, "scores": torch.ones_like(best).float()}

    def __exit__(self, *_: object) -> None:
        del self._model.run_detection  # the class's own shows again


def _small_sam3() -> Any:
    from transformers import Sam3VideoConfig

    wide = 128  # its memory splits an object's vector into pieces of 64, so it cannot be narrower
    trunk = {
        "model_type": "sam3_vit_model",
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "image_size": 112,
        "pretrain_image_size": 112,
        "window_size": 4,
        "global_attn_indexes": [1],
    }
    vision = {
        "model_type": "sam3_vision_model",
        "backbone_config": trunk,
        "fpn_hidden_size": wide,
        "backbone_feature_sizes": [[32, 32], [16, 16], [8, 8]],
    }
    part = {"hidden_size": wide, "num_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    text = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2}
    return Sam3VideoConfig(
        detector_config={
            "vision_config": vision,
            "text_config": {**text, "projection_dim": wide},
            "geometry_encoder_config": part,
            "detr_encoder_config": part,
            "detr_decoder_config": {**part, "num_queries": 6},
            "mask_decoder_config": {"hidden_size": wide, "num_attention_heads": 2},
        },
        tracker_config={
            "vision_config": vision,
            "prompt_encoder_config": {"hidden_size": wide, "image_size": 112},
            "mask_decoder_config": {"hidden_size": wide, "mlp_dim": 32, "num_attention_heads": 2},
            "image_size": 112,
            "memory_attention_hidden_size": wide,
            "memory_attention_num_layers": 1,
            "memory_attention_rope_feat_sizes": [8, 8],
            "memory_attention_feed_forward_hidden_size": 32,
            "memory_encoder_hidden_size": wide,
            "mask_downsampler_embed_dim": wide,
            "memory_fuser_embed_dim": wide,
            "memory_fuser_intermediate_dim": 32,
        },
        low_res_mask_size=32,
    )


# ---- Grounding DINO, then SAM 2 --------------------------------------------------------------------------------------


def _grounded_sam2(is_quick: bool, device: torch.device, dtype: torch.dtype) -> Built:
    from transformers import GroundingDinoConfig, GroundingDinoForObjectDetection, Sam2Config, Sam2Model

    finder_config: Any = _small_grounding_dino() if is_quick else GroundingDinoConfig()
    painter_config: Any = Sam2Config()
    if is_quick:
        painter_config = Sam2Config(vision_config=_small_sam2_vision(), prompt_encoder_config={"image_size": 128})
    finder = _ready(GroundingDinoForObjectDetection, finder_config, device, dtype)
    painter = _ready(Sam2Model, painter_config, device, dtype)
    finder_side, painter_side = (64, 128) if is_quick else (800, 1024)
    # BERT's [CLS], words, a full stop, [SEP]: it tells phrases apart by these numbers.
    numbers = torch.tensor([[101, *range(2000, 2020), 1012, 102]], device=device)

    def on(count: int) -> Work:
        small, large = (_frames(count, side, device, dtype) for side in (finder_side, painter_side))

        def work() -> Tensor:
            read = numbers.expand(count, -1)
            found = finder(
                pixel_values=small,
                input_ids=read,
                token_type_ids=torch.zeros_like(read),
                attention_mask=torch.ones_like(read),
                pixel_mask=torch.ones_like(small[:, 0], dtype=torch.long),
            )
            surest = found.logits.amax(-1).argmax(-1)  # (T,)
            x, y, width, height = found.pred_boxes[torch.arange(count, device=device), surest].unbind(-1)
            box = torch.stack([x - width / 2, y - height / 2, x + width / 2, y + height / 2], dim=-1) * painter_side
            masks: Tensor = painter(
                pixel_values=large, input_boxes=box[:, None].to(dtype), multimask_output=False
            ).pred_masks
            return masks

        return work

    return _built(on, f"{finder_side}, {painter_side}", finder, painter)


def _small_grounding_dino() -> Any:
    from transformers import BertConfig, GroundingDinoConfig, SwinConfig

    swin: Any = SwinConfig  # its types do not know the stages to take
    return GroundingDinoConfig(
        backbone_config=swin(
            image_size=64,
            embed_dim=12,
            depths=[1, 1, 1, 1],
            num_heads=[1, 1, 2, 2],
            window_size=4,
            out_features=["stage2", "stage3", "stage4"],
        ),
        text_config=BertConfig(
            hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, vocab_size=3000
        ),
        d_model=32,
        encoder_layers=1,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        num_queries=10,
        max_text_len=32,
    )


PEERS: tuple[Peer, ...] = (
    Peer("CLIPSeg", ("CLIPSegConfig", "CLIPSegForImageSegmentation"), "words, one frame", "all", _clipseg),
    Peer(
        "SAM 2 video (Hiera-T), one object",
        ("Sam2VideoConfig", "Sam2VideoModel", "Sam2VideoInferenceSession"),
        "a box, the past",
        "image encoder",
        _sam2_video,
    ),
    Peer(
        "SAM 3 video, one object",
        ("Sam3VideoConfig", "Sam3VideoModel", "Sam3VideoInferenceSession"),
        "a noun, the past",
        "none",
        _sam3_video,
        "one detection is taken from the first frame, and later ones are dropped, as random weights would give any "
        "number of objects",
    ),
    Peer(
        "Grounding DINO (Swin-T) + SAM 2, one box",
        ("GroundingDinoConfig", "GroundingDinoForObjectDetection", "Sam2Config", "Sam2Model"),
        "words, one frame",
        "all",
        _grounded_sam2,
        "the surest box of each frame",
    ),
)
