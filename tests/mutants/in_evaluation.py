"""Bugs in the scores."""

from tests.mutants.record import Mutant

REAL_SIZE = "evaluation/test_boundary.py::test_videos_of_real_size_agree_with_the_definition"
MEAN_OF_TWO = "evaluation/test_summary.py::test_j_and_f_is_the_mean_of_the_two_over_frames_and_then_over_questions"

EVALUATION = (
    Mutant(
        name="j-and-f-is-j",
        file="evaluation/metrics/summary.py",
        old='"j&f": None if j is None or f is None else (j + f) / 2',
        new='"j&f": j',
        tests=(MEAN_OF_TWO,),
        why="The number that most tables print.",
    ),
    Mutant(
        name="j-and-f-of-a-question-is-j",
        file="evaluation/metrics/sample_score.py",
        old="(self.j + self.f) / 2",
        new="self.j",
        tests=(MEAN_OF_TWO,),
        why="The same number, for one question.",
    ),
    Mutant(
        name="boundary-tolerance-too-wide",
        file="evaluation/metrics/packed_masks.py",
        old="TOLERANCE = 0.008",
        new="TOLERANCE = 0.01",
        tests=(REAL_SIZE,),
        why="DAVIS's bound_th is 0.008 of the diagonal.",
    ),
    Mutant(
        name="boundary-within-a-diamond",
        file="evaluation/metrics/packed_masks.py",
        old="wanted = math.isqrt(radius * radius - rise * rise)",
        new="wanted = radius - rise",
        tests=(REAL_SIZE,),
        why="DAVIS dilates by a disk.",
    ),
    Mutant(
        name="empty-union-is-wrong",
        file="evaluation/metrics/counts.py",
        old="if self.union else 1.0",
        new="if self.union else 0.0",
        tests=("evaluation/test_summary.py::test_two_empty_masks_agree_and_count_as_presence",),
        why="Two empty masks agree wholly.",
    ),
    Mutant(
        name="precision-at-or-above",
        file="evaluation/metrics/summary.py",
        old="20 * part > twentieths * whole",
        new="20 * part >= twentieths * whole",
        tests=("evaluation/test_summary.py::test_an_overlap_exactly_at_a_threshold_is_at_it_and_not_above_it",),
        why="P@K counts overlaps above K.",
    ),
    Mutant(
        name="precision-averaged-over-five",
        file="evaluation/metrics/summary.py",
        old="_share(sum(self._above.values()), 10 * frames)",
        new="_share(sum(self._above[each] for each in _PRINTED), 5 * frames)",
        tests=(
            "evaluation/test_summary.py::test_precision_is_averaged_over_ten_thresholds_and_not_those_that_are_printed",
        ),
        why="mAP is over 0.50, 0.55, ..., 0.95.",
    ),
    Mutant(
        name="average-precision-not-monotone",
        file="evaluation/metrics/average_precision.py",
        old="precision = np.maximum.accumulate(precision[::-1])[::-1]",
        new="precision = precision[:]",
        tests=("evaluation/test_average_precision.py::test_many_objects_crowds_and_ties_agree_with_pycocotools",),
        why="COCO makes the precision monotone before it is read off.",
    ),
    Mutant(
        name="videos-weigh-the-same",
        file="evaluation/metrics/davis.py",
        old="for j, f in scores:",
        new="for j, f in ([[mean(list(each)) or 0.0 for each in zip(*scores)]] if scores else []):",
        tests=("evaluation/test_davis.py::test_every_object_of_all_videos_weighs_the_same",),
        why="DAVIS averages over all objects of all videos.",
    ),
    Mutant(
        name="worst-assignment",
        file="evaluation/metrics/davis.py",
        old="linear_sum_assignment(-quality)",
        new="linear_sum_assignment(quality)",
        tests=("evaluation/test_davis.py::test_swapped_objects_are_forgiven_with_free_identities_only",),
        why="With free identities the best assignment counts.",
    ),
    Mutant(
        name="last-frame-given-away",
        file="evaluation/metrics/davis.py",
        old="counts[1:-1] for counts in grid.fixed",
        new="counts[:-1] for counts in grid.fixed",
        tests=("evaluation/test_davis.py::test_semi_supervised_leaves_out_the_first_and_the_last_frame",),
        why="The semi-supervised protocol is given the first frame.",
    ),
    Mutant(
        name="void-pixels-counted",
        file="evaluation/external/score_davis.py",
        old="crossed[row][column].append(compare(mask, true_mask, void))",
        new="crossed[row][column].append(compare(mask, true_mask))",
        tests=("evaluation/test_davis.py::test_void_pixels_are_left_out_with_free_identities_as_in_the_toolkit",),
        why="DAVIS leaves them out in the unsupervised protocol.",
    ),
    Mutant(
        name="absent-stills-counted",
        file="evaluation/report/stills.py",
        old="[sample for sample in samples if sample.info.kind not in ABSENT_KINDS]",
        new="list(samples)",
        tests=("evaluation/test_stills.py::test_an_empty_answer_is_worth_nothing_overall",),
        why="Who marks nothing would be praised for it.",
    ),
    Mutant(
        name="stills-not-reported",
        file="evaluation/run/evaluators.py",
        old='    "coco-val": StillsEvaluator,\n',
        new="",
        tests=("evaluation/test_stills.py::test_the_command_reports_each_kind_and_scores_what_is_there_alone",),
        why="COCO would be scored like any dataset, without its kinds of questions.",
    ),
)
