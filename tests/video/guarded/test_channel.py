"""What comes through a connection: all of it, however it is cut, or an error in time."""

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from locater.video.guarded.channel import Channel, ChannelClosedError, SilentError

MANY = bytes(range(256)) * 8000  # more than a connection holds


@pytest.fixture
def ends() -> Iterator[tuple[Channel, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Channel(ours), theirs


def test_many_bytes_in_slow_pieces_come_whole(ends: tuple[Channel, socket.socket]) -> None:
    channel, theirs = ends

    def send() -> None:
        for start in range(0, len(MANY), 500_000):
            theirs.sendall(MANY[start : start + 500_000])
            time.sleep(0.02)

    sender = threading.Thread(target=send)
    sender.start()
    assert channel.receive_bytes(len(MANY), 10.0) == MANY
    sender.join()


@pytest.mark.parametrize("come", [0, 1, 1000])
def test_silence_amid_a_message_is_noticed_in_time(ends: tuple[Channel, socket.socket], come: int) -> None:
    channel, theirs = ends
    theirs.sendall(MANY[:come])
    began = time.monotonic()
    with pytest.raises(SilentError):
        channel.receive_bytes(len(MANY), 0.3)
    assert 0.2 < time.monotonic() - began < 5


def test_what_ends_amid_a_message_is_closed(ends: tuple[Channel, socket.socket]) -> None:
    channel, theirs = ends
    theirs.sendall(MANY[:1000])
    theirs.close()
    with pytest.raises(ChannelClosedError):
        channel.receive_bytes(len(MANY), None)


def test_what_several_threads_say_is_never_mixed(ends: tuple[Channel, socket.socket]) -> None:
    """A decoder that shows it is alive while a frame is being sent says so after it."""
    reader, theirs = ends
    speaker = Channel(theirs)

    def say(kind: str) -> None:
        for _ in range(20):
            if kind == "frame":
                speaker.send("frame", len(MANY), memoryview(MANY))
            else:
                speaker.send("alive", None)

    threads = [threading.Thread(target=say, args=(kind,)) for kind in ("frame", "alive")]
    for each in threads:
        each.start()
    heard = []
    for _ in range(40):
        kind, size = reader.receive(10.0)
        heard.append(kind)
        assert kind == "alive" or reader.receive_bytes(size, 10.0) == MANY
    for each in threads:
        each.join()
    assert sorted(heard) == ["alive"] * 20 + ["frame"] * 20
