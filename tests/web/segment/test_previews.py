"""A clip's frames as small pictures, found by their number."""

from pathlib import Path

from locater.video.guarded.source import guarded_video
from locater.web.segment.limits import Limits
from locater.web.segment.previews import Previews


def test_previews_are_found_by_their_frame(clip: Path, tmp_path: Path) -> None:
    previews = Previews(tmp_path / "previews")
    for size in guarded_video(clip, Limits().of_a_clip, "mine").small_jpegs(previews.path):
        previews.add(size)
    pictures = [previews.picture(index) for index in range(len(previews))]
    assert len(pictures) == 20 and all(each.startswith(b"\xff\xd8") and each.endswith(b"\xff\xd9") for each in pictures)
    assert len(set(pictures)) == 20
    previews.close()
