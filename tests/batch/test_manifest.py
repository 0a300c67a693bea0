"""Manifests: what is read of good ones, and one sentence with the line of what is wrong in others."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from locater.batch import manifest
from locater.batch.manifest import Named, read_manifest
from locater.errors import LocaterError


def written(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return path


def test_csv_has_a_column_for_each_sentence_and_empty_cells_are_none(tmp_path: Path) -> None:
    text = 'video,sentence,name,sentence\nclips/a.mp4,the dog,,\n"/data/b, c.mov","a ""red"" car",second,the man\n\n'
    assert read_manifest(written(tmp_path, "list.csv", text)) == [
        Named(name="a", video=str(tmp_path / "clips/a.mp4"), sentences=("the dog",)),
        Named(name="second", video="/data/b, c.mov", sentences=('a "red" car', "the man")),
    ]


def test_json_lines_hold_lists_of_sentences(tmp_path: Path) -> None:
    rows = [
        {"video": "s3://bucket/a/clip.mp4", "sentences": ["the dog", "the cat"]},
        {"video": "https://host/clip.mp4?token=x", "sentences": ["the dog"]},
        {"video": "file:///data/clip.mp4", "sentences": ["the dog"], "name": "mine"},
    ]
    found = read_manifest(written(tmp_path, "list.jsonl", "\n".join(map(json.dumps, rows))))
    assert [row.video for row in found] == [rows[0]["video"], rows[1]["video"], "/data/clip.mp4"]
    assert found[0].name == "clip" and found[2].name == "mine"
    assert found[1].name.startswith("clip-") and len(found[1].name) == 13


def test_names_stay_when_lines_are_added(tmp_path: Path) -> None:
    lines = ["video,sentence", "a/clip.mp4,the dog", "b/CLIP.mp4,the dog", "a/clip.mp4,the cat"]
    names = [
        [row.name for row in read_manifest(written(tmp_path, "list.csv", "\n".join(lines[:count])))]
        for count in (2, 3, 4)
    ]
    assert names[2][:2] == names[1] and names[1][:1] == names[0] == ["clip"]
    assert len({name.lower() for name in names[2]}) == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"video": "a.mp4", "sentences": ["the dog"]}\n{"video": "b.mp4"}', "line 2: sentences: Field required"),
        ('{"video": "a.mp4", "sentences": []}', "line 1: sentences"),
        ('{"video": "a.mp4", "sentences": "the dog"}', "line 1: sentences"),
        ('{"video": "a.mp4", "sentences": ["the dog", 3]}', "line 1: sentences.1"),
        ('{"video": "a.mp4", "sentences": ["  "]}', "it is empty"),
        ('{"video": "a.mp4", "sentences": ["the \\u001b[2J dog"]}', "control character"),
        ('{"video": "a.mp4", "sentences": ["' + "a" * 2001 + '"]}', "line 1: sentences.0"),
        ('{"video": "a.mp4", "sentences": ["the dog"], "fps": 3}', "line 1: fps: Extra"),
        ('{"video": "a.mp4", "sentences": ["the dog"], "name": "../x"}', "line 1: name"),
        ('{"video": "a.mp4", "sentences": ["the dog"], "name": ".x"}', "line 1: name"),
        ('{"video": "a.mp4", "sentences": ["the dog"]', "line 1: Invalid JSON"),
        ("[" * 100_000, "line 1: Invalid JSON"),
        ("\n\n", "names no video"),
        ('{"video": "a.mp4", "sentences": ["x"]}\n{"video": "./a.mp4", "sentences": ["x"]}', "line 2: the same video"),
        (
            '{"video": "a.mp4", "sentences": ["x"], "name": "n"}\n{"video": "b.mp4", "sentences": ["x"], "name": "N"}',
            "line 2: the same name as line 1",
        ),
    ],
)
def test_what_is_wrong_with_json_lines_is_told_by_its_line(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(LocaterError) as error:
        read_manifest(written(tmp_path, "list.jsonl", text))
    assert said in str(error.value) and "\n" not in str(error.value) and len(str(error.value)) < 400


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1: the columns must be"),
        ("address,sentence\na.mp4,the dog", "line 1: the columns must be"),
        ("video,name\na.mp4,a", "line 1: the columns must be"),
        ("video,sentence\na.mp4,the dog, left", "line 2: 3 cells under 2 columns"),
        ("video,sentence\na.mp4,\n", "line 2: sentences"),
        ("video,sentence\n,the dog\n", "line 2: video: Field required"),
        ('video,sentence\na.mp4,"the dog', "line 2: unexpected end of data"),
        ("video,sentence\na.mp4," + "a" * 200_000, "line 2: field larger than field limit"),
        ("video,sentence\na.mp4,the \0 dog", "line 2"),
        (b"video,sentence\n\xff\xfe.mp4,the dog", "is no text in utf-8"),
    ],
)
def test_what_is_wrong_with_csv_is_told_by_its_line(text: str | bytes, said: str, tmp_path: Path) -> None:
    with pytest.raises(LocaterError) as error:
        read_manifest(written(tmp_path, "list.csv", text))
    assert said in str(error.value)


def test_files_that_cannot_be_manifests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "fifo.csv")
    for name in ("none.csv", "fifo.csv", "list.xlsx"):
        with pytest.raises(LocaterError):
            read_manifest(tmp_path / name)
    path = written(tmp_path, "list.csv", "video,sentence\na.mp4,the dog\nb.mp4,the dog\n")
    monkeypatch.setattr(manifest, "MOST_ROWS", 1)
    with pytest.raises(LocaterError, match="more than 1 rows"):
        read_manifest(path)
    monkeypatch.setattr(manifest, "LARGEST_FILE", 10)
    with pytest.raises(LocaterError, match="MB; divide it"):
        read_manifest(path)


@given(content=st.binary(max_size=300), ending=st.sampled_from([".csv", ".jsonl"]))
def test_any_bytes_are_rows_or_one_sentence(
    content: bytes, ending: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("any") / f"list{ending}"
    path.write_bytes(content)
    try:
        rows = read_manifest(path)
    except LocaterError as error:
        assert "\n" not in str(error).removeprefix(str(path))
    else:
        assert all(row.sentences and "/" not in row.name for row in rows)
