"""How large the network of a config is at the least, known without building any of it."""

from locater.config import JoinedConfig, LSTMConfig, ModelConfig, VectorsConfig, VisualConfig, ViTConfig

_OF_A_BLOCK = 12  # times its width squared: attention has 4, the MLP 8


def least_numbers(config: ModelConfig) -> int:
    """As many numbers as its matrices have for certain; biases, norms, stems and heads come on top."""
    squared = config.width**2
    blocks = config.memory.refine_blocks
    if config.fusion.kind == "transformer":
        blocks += 2 * config.fusion.modules  # a block for both directions (Eq. 3, 4)
    return _of_vision(config.visual) + _of_text(config) + _OF_A_BLOCK * squared * blocks


def _of_vision(visual: VisualConfig) -> int:
    if isinstance(visual, JoinedConfig):
        return _of_vision(visual.what) + _of_vision(visual.where)
    if isinstance(visual, ViTConfig):
        return _OF_A_BLOCK * visual.width**2 * visual.depth
    return 0  # of one size each


def _of_text(config: ModelConfig) -> int:
    text = config.text
    if not isinstance(text, LSTMConfig):
        return 0  # a folder beside the config describes it
    half = config.width // 2
    lstm = 2 * 4 * half * (text.embedding_width + half)
    table = text.words * text.vector_width + text.letters if isinstance(text, VectorsConfig) else 0
    return lstm + table + len(text.vocabulary) * text.embedding_width
