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
