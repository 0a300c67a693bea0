"""Is the thing that was said in the video at all? An answer of its own, from evidence pooled over object and time."""

import torch
from torch import Tensor, nn

# Frames that the evidence remembers: a mean over the whole past could not be changed by anything that comes late.
LONGEST_MEAN = 24.0


class PresenceHead(nn.Module):
    """A logit per expression: whether what the masks have marked so far is what the sentence names.

    One patch is easily mistaken, a dog's flank for a cow's. So V is averaged over the whole object as the mask weighs
    it, then over time, each frame as much as something was marked in it, and only this mean is compared with q_t.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.object_norm = nn.LayerNorm(width)
        self.from_object = nn.Linear(width, width)
        self.from_query = nn.Linear(width, width)
        self.head = nn.Sequential(nn.Linear(3 * width, width), nn.GELU(), nn.Linear(width, 1))

    def no_evidence(self, batch: int) -> Tensor:
        """(B, D + 1) before any frame: the mean object, and how many frames it stands for."""
        weight = self.from_object.weight
        return torch.zeros(batch, weight.shape[1] + 1, device=weight.device)

    def evidence_with(self, evidence: Tensor, values: Tensor, patch_logits: Tensor) -> Tensor:
        """The evidence (B, D + 1) after a frame: V_t (B, P, D) where its patch logits (B, P) mark something."""
        soft = patch_logits.float().sigmoid()
        seen = torch.einsum("bp,bpd->bd", soft / soft.sum(-1, keepdim=True).clamp(min=1e-6), values.float())
        sure = soft.amax(-1, keepdim=True)  # (B, 1)
        mean, frames = evidence[:, :-1], evidence[:, -1:]
        after = frames + sure
        return torch.cat([mean + (sure / after.clamp(min=1e-6)) * (seen - mean), after.clamp(max=LONGEST_MEAN)], dim=-1)

    def forward(self, evidence: Tensor, query: Tensor) -> Tensor:
        """The logit (B,) of a presence, from the evidence (B, D + 1) and q_t (B, D)."""
        mean = self.object_norm(evidence[:, :-1].to(query.dtype))
        thing, said = self.from_object(mean), self.from_query(query)
        logit: Tensor = self.head(torch.cat([thing, said, thing * said], dim=-1)).squeeze(-1)
        return logit
