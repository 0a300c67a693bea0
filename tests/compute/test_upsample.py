import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from locater.compute.upsample import upsample

sides = st.integers(1, 9)


@settings(max_examples=50, deadline=None)
@given(h=sides, w=sides, height=st.integers(1, 30), width=st.integers(1, 30))
def test_two_matrix_products_equal_the_librarys_bilinear(h: int, w: int, height: int, width: int) -> None:
    maps = torch.randn(2, 3, h, w, dtype=torch.float64, requires_grad=True)
    ours = upsample(maps, (height, width))
    theirs = torch.nn.functional.interpolate(maps, size=(height, width), mode="bilinear", align_corners=False)
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)
    direction = torch.randn_like(ours)
    ours, theirs = (torch.autograd.grad((x * direction).sum(), maps)[0] for x in (ours, theirs))
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)
