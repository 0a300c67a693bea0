"""Bugs between a list of videos and a job's results."""

from tests.mutants.record import Mutant

WORK = "batch/test_work.py"
PARTS = "batch/test_parts.py"

BATCH = (
    Mutant(
        name="a-part-that-does-not-follow",
        file="batch/parts.py",
        old="            chains[part[1]] = [*chains[part[0]], part]",
        new="            chains[part[1]] = [*chains[part[0]], part]\n            break",
        tests=(f"{PARTS}::test_a_worker_that_was_taken_for_lost_leaves_parts_that_are_passed_over",),
        why="Frames between two parts would be missing.",
    ),
    Mutant(
        name="the-earlier-sentence-wins-after-a-resume",
        file="batch/parts.py",
        old="if result.soft_masks is not None and overlapping(result):",
        new="if False:",
        tests=(f"{PARTS}::test_a_saved_frame_gives_the_same_masks_and_the_same_indexed_picture",),
        why="Indexed pictures of a resumed video would differ where sentences overlap.",
    ),
    Mutant(
        name="tries-count-whatever-was-saved",
        file="batch/work.py",
        old="(before.asked, before.place) == (asked, place)",
        new="before.asked == asked",
        tests=(f"{WORK}::test_a_video_that_gets_on_between_deaths_is_not_given_up",),
        why="A long video on machines that come and go would be given up.",
    ),
    Mutant(
        name="tries-do-not-count",
        file="batch/work.py",
        old="count=count + 1))",
        new="count=1))",
        tests=(f"{WORK}::test_a_video_at_whose_place_workers_die_is_given_up",),
        why="A video that kills its worker would keep the job going for ever.",
    ),
    Mutant(
        name="a-moved-file-is-done-again",
        file="batch/work.py",
        old="if found is None or found.key != key:",
        new="if found is None or found.version != version:",
        tests=(f"{WORK}::test_a_copied_and_a_moved_file_are_known_by_their_content",),
        why="What is finished is known by its content.",
    ),
    Mutant(
        name="pass-one-begins-anew",
        file="inference/segmenter.py",
        old="frames = source.frames(state.global_index or 0, every)",
        new="frames = source.frames(0, every)",
        tests=("inference/test_segmenter.py::test_pass_one_resumes_from_every_chunk_bit_for_bit",),
        why="Frames would be written twice into the global memory of a resumed video.",
    ),
)
