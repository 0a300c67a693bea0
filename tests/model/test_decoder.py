"""The referring decoder against Eq. 9 to 11."""

import torch
from torch.nn import functional as F

from locater.model.decoder import FineUpsampler, PatchReadout, QueryEmbedding, ReferringDecoder, presence
from tests.support.made_words import words_of


def test_visual_query_is_eq_9_and_10() -> None:
    torch.manual_seed(0)
    query = QueryEmbedding(8, "visual")
    values, global_cells, local_cells = torch.randn(2, 4, 8), torch.randn(2, 6, 8), torch.randn(2, 5, 8)
    words = words_of(torch.randn(2, 5, 8), [5, 3])
    attention = query.ask(values[:, None], global_cells, words).at(0, local_cells).softmax(-1)
    for b, length in enumerate([5, 3]):
        context = torch.cat([values[b].mean(0), global_cells[b].mean(0), local_cells[b].mean(0)])
        w_1, w_2 = query.from_context.weight.T, query.from_words.weight.T
        assert w_1.shape == (24, 8) and w_2.shape == (8, 8)  # 3D x D and D x D, as printed
        real = words.features[b, :length]
        expected = torch.softmax((context @ w_1) @ (real @ w_2).T, dim=0)
        torch.testing.assert_close(attention[b, :length], expected, rtol=1e-5, atol=1e-6)
        assert attention[b, length:].eq(0).all()


def test_text_query_looks_at_words_alone() -> None:
    torch.manual_seed(0)
    query = QueryEmbedding(8, "text")
    words = words_of(torch.randn(1, 5, 8), [4])
    cells = torch.randn(1, 6, 8)
    ours = query.ask(torch.randn(1, 2, 4, 8), cells, words).at(1, cells)
    theirs = query.ask(torch.randn(1, 2, 4, 8), cells * 2, words).at(1, cells * 3)
    assert torch.equal(ours, theirs)
    real = words.features[0, :4]
    expected = (real.mean(0) @ query.from_context.weight.T) @ (real @ query.from_words.weight.T).T
    torch.testing.assert_close(ours[0, :4], expected, rtol=1e-5, atol=1e-6)
    assert ours[0, 4] == -torch.inf


def test_readouts_are_their_formulas() -> None:
    torch.manual_seed(0)
    context, query = torch.randn(2, 6, 8), torch.randn(2, 8)
    product = torch.stack([context[b] @ query[b] for b in range(2)])
    torch.testing.assert_close(PatchReadout(8, "product")(context, query), product)
    cosine = 10 * torch.nn.functional.cosine_similarity(context, query[:, None], dim=-1)
    torch.testing.assert_close(PatchReadout(8, "cosine")(context, query), cosine, rtol=1e-5, atol=1e-5)
    head = PatchReadout(8, "encoder_only")
    assert torch.equal(head(context, query), head(context, query * 5))


def test_fine_readout_has_the_finest_early_maps_size_and_sees_it() -> None:
    torch.manual_seed(0)
    upsampler = FineUpsampler(8, 4, early_channels=(2, 3))
    context, query, coarse = torch.randn(2, 4, 8), torch.randn(2, 8), torch.randn(2, 2, 2)
    early = [torch.randn(1, 2, 8, 8), torch.randn(1, 3, 4, 4)]  # one set for both expressions
    logits = upsampler(context, query, coarse, upsampler.prepare(early))
    assert logits.shape == (2, 8, 8)
    other = upsampler.prepare([torch.randn(1, 2, 8, 8), early[1]])
    assert not torch.equal(upsampler(context, query, coarse, other), logits)


def test_the_fine_readout_is_its_layers_one_after_another() -> None:
    torch.manual_seed(0)
    upsampler = FineUpsampler(8, 4, early_channels=(2, 3)).eval()
    context, query, coarse = torch.randn(1, 4, 8), torch.randn(1, 8), torch.randn(1, 2, 2)
    fine, middle = torch.randn(1, 2, 8, 8), torch.randn(1, 3, 4, 4)
    w = {name: tensor.detach() for name, tensor in upsampler.state_dict().items()}
    x = context @ w["from_context.weight"].T + w["from_context.bias"]
    x = x + (context * query) @ w["from_match.weight"].T + w["from_match.bias"]
    x = x.transpose(1, 2).reshape(1, 4, 2, 2)
    for stage, early in enumerate((middle, fine)):
        normed = (early - early.mean()) / (early.var(unbiased=False) + 1e-5).sqrt()  # over the whole map of a frame
        x = torch.cat([x.repeat_interleave(2, 2).repeat_interleave(2, 3), normed], dim=1)
        x = F.conv2d(x, w[f"stages.{stage}.0.weight"], w[f"stages.{stage}.0.bias"], padding=1)
        x = F.gelu((x - x.mean()) / (x.var(unbiased=False) + 1e-5).sqrt())
        x = F.gelu(F.conv2d(x, w[f"stages.{stage}.3.weight"], w[f"stages.{stage}.3.bias"], padding=1))
    base = F.interpolate(coarse[None], size=(8, 8), mode="bilinear", align_corners=False)[0]
    expected = F.conv2d(x, w["out.weight"], w["out.bias"], padding=1)[0] + 8**-0.5 * base
    found = upsampler(context, query, coarse, upsampler.prepare([fine, middle]))
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def test_the_decoder_without_upsampler_stays_on_the_patch_grid() -> None:
    decoder = ReferringDecoder(QueryEmbedding(8, "visual"), PatchReadout(8, "product"), None)
    values, features = torch.randn(1, 6, 8), torch.randn(1, 5, 8)
    word_logits = torch.tensor([[1.0, 2.0, -torch.inf, -torch.inf, -torch.inf]])
    prediction = decoder(values, word_logits, features, (), (2, 3))
    attention = torch.softmax(torch.tensor([1.0, 2.0]), dim=0)
    torch.testing.assert_close(prediction.query_attention[0], torch.cat([attention, torch.zeros(3)]))
    query = attention @ features[0, :2]
    torch.testing.assert_close(prediction.logits[0], (values[0] @ query).view(2, 3))  # row by row


def test_presence_is_the_mean_of_the_top_hundredth() -> None:
    soft = torch.linspace(0, 1, 400).view(1, 20, 20)
    torch.testing.assert_close(presence(soft), soft.flatten()[-4:].mean()[None])
    assert presence(torch.full((1, 2, 2), 0.25)).item() == 0.25
