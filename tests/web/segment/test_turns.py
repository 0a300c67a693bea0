"""One network for many: by turns, one job of each client, nobody starved, and cancelled at the next chunk."""

import threading
import time
from collections.abc import Callable

from locater.web.segment.turns import CancelledError, FairQueue, Job


def stepping(name: str, steps: int, done: list[str]) -> Callable[[Callable[[], None]], None]:
    def work(pause: Callable[[], None]) -> None:
        for _ in range(steps):
            time.sleep(0.002)
            done.append(name)
            pause()

    return work


def finished(queue: FairQueue, jobs: list[Job]) -> None:
    ended = [threading.Event() for _ in jobs]
    for job, event in zip(jobs, ended, strict=True):

        def work(
            pause: Callable[[], None], inner: Callable[..., None] = job.work, event: threading.Event = event
        ) -> None:
            try:
                inner(pause)
            finally:
                event.set()

        job.work = work
        queue.submit(job)
    assert all(event.wait(10) for event in ended)


def test_a_long_job_lets_short_ones_pass() -> None:
    done: list[str] = []
    jobs = [Job("long", stepping("long", 60, done)), *(Job(name, stepping(name, 4, done)) for name in "abc")]
    finished(FairQueue(4), jobs)
    assert len(done) == 72
    last = max(place for place, name in enumerate(done) if name != "long")
    assert done[last:].count("long") > 35  # the others had been done long before


def test_turns_go_round() -> None:
    done: list[str] = []
    finished(FairQueue(3), [Job(name, stepping(name, 30, done)) for name in "abc"])
    both = done[10:-10]
    assert all(len(set(both[place : place + 3])) == 3 for place in range(0, len(both) - 3, 3))


def test_a_client_has_one_job_at_a_time_and_others_overtake_its_second() -> None:
    done: list[str] = []
    jobs = [
        Job("greedy", stepping("first", 10, done)),
        Job("greedy", stepping("second", 10, done)),
        Job("b", stepping("b", 10, done)),
    ]
    finished(FairQueue(2), jobs)
    assert done.index("second") > max(place for place, name in enumerate(done) if name == "first")
    assert done.index("b") < done.index("second")


def test_only_a_few_run_and_the_others_know_their_place() -> None:
    queue, gate, done = FairQueue(1), threading.Event(), list[str]()

    def held(pause: Callable[[], None]) -> None:
        gate.wait(10)
        pause()

    jobs = [Job("a", held), Job("b", stepping("b", 1, done)), Job("c", stepping("c", 1, done))]
    for job in jobs:
        queue.submit(job)
    assert [queue.ahead_of(job) for job in jobs] == [0, 0, 1] and not done
    cancelled: list[bool] = []
    jobs[1].on_cancelled = lambda: cancelled.append(True)
    queue.cancel(jobs[1])
    assert cancelled and queue.ahead_of(jobs[2]) == 0
    gate.set()
    queue.close()
    assert done in ([], ["c"])


def test_a_cancelled_job_ends_at_its_next_chunk() -> None:
    queue, begun, ended = FairQueue(1), threading.Event(), threading.Event()

    def endless(pause: Callable[[], None]) -> None:
        try:
            while True:
                begun.set()
                pause()
        except CancelledError:
            ended.set()

    job = Job("a", endless)
    queue.submit(job)
    assert begun.wait(5) and not ended.is_set()
    queue.cancel(job)
    assert ended.wait(5)
