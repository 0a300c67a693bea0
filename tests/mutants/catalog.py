"""Every mutant, by the part of the package that it changes."""

from tests.mutants.in_batch import BATCH
from tests.mutants.in_data import DATA
from tests.mutants.in_evaluation import EVALUATION
from tests.mutants.in_inference import INFERENCE
from tests.mutants.in_model import MODEL
from tests.mutants.in_training import TRAINING
from tests.mutants.in_video import VIDEO
from tests.mutants.record import Mutant

MUTANTS: tuple[Mutant, ...] = (*MODEL, *TRAINING, *EVALUATION, *INFERENCE, *VIDEO, *DATA, *BATCH)
