"""The training loop: one process or many through accelerate, exactly resumable."""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from torch import nn

from locater.compute.processes import is_joined_on_cpu, mean_over_processes
from locater.compute.recompute import recompute_blocks
from locater.config import TrainingConfig
from locater.errors import LocaterError
from locater.io.atomic import plain_os_errors
from locater.model.checkpoint import save_pretrained
from locater.model.compiled import compile_parts
from locater.model.locater import Locater
from locater.model.transformer import EncoderBlock
from locater.training.data.batches import TrainingData
from locater.training.graphed_step import GraphedLosses
from locater.training.inputs import Share, step_inputs
from locater.training.losses import clip_loss, with_classes_kept
from locater.training.metrics_log import MetricsLog, mean_score
from locater.training.moving_average import WeightAverage
from locater.training.optimizer import freeze, make_optimizer, polynomial, skip_unless_finite
from locater.training.prefetch import PrefetchedBatches
from locater.training.report import write_training_page
from locater.training.resume import keep_newest, load_state, save_state
from locater.training.validation import save_pictures, validate

BEST = "best"  # the folder of the checkpoint with the best validation
MOST_LOST = 5  # logged losses in a row that are no numbers


@dataclass(frozen=True)
class Progress:
    """What a listener hears after each step."""

    step: int
    steps: int
    loss: float
    clips_per_second: float
    first_step: int = 0  # steps that an earlier run has done


class Trainer:
    """Trains one network on one source of data into one folder."""

    def __init__(
        self,
        model: Locater,
        data: TrainingData,
        config: TrainingConfig,
        folder: Path,
        *,
        seed: int = 0,
        workers: int = 0,
        trackers: tuple[str, ...] = (),
        start: Locater | None = None,
    ) -> None:
        """`start`: the network whose encoder's classes `training.recognition_weight` keeps."""
        self.steps = total_steps(config, data)
        self.config = config
        self.folder = folder
        self.data = data
        self.accelerator = Accelerator(
            cpu=is_joined_on_cpu(),
            mixed_precision=config.precision,
            gradient_accumulation_steps=config.accumulate,
            log_with=list(trackers) or None,
            project_dir=str(folder),
        )
        if trackers:
            self.accelerator.init_trackers("locater", config=_plain(config.model_dump()))
        freeze(model, config)
        self.model = model.to(self.accelerator.device)
        device = self.accelerator.device
        is_kept = config.recognition_weight > 0 and not config.cached_clips  # nor does the encoder learn there
        self.recognised_by = start.visual.to(device) if start is not None and is_kept else None
        share = Share(seed, self.accelerator.process_index, self.accelerator.num_processes, workers, device)
        self.inputs = step_inputs(self.model, data, config, share)
        self.average = WeightAverage(self.model, config.ema_decay) if config.ema_decay else None
        if config.gradient_checkpointing:
            recompute_blocks(block for block in self.model.modules() if isinstance(block, EncoderBlock))
        if config.compile:
            compile_parts(self.model)
        self.optimizer = make_optimizer(self.model, config)
        self.full_rates = [group["lr"] for group in self.optimizer.param_groups]
        self.rate = polynomial(self.steps, config.warmup_steps, config.power)
        self.wrapped, self.wrapped_optimizer = self.accelerator.prepare(self.inputs.network, self.optimizer)
        is_graphed = config.cuda_graph and device.type == "cuda" and self.accelerator.num_processes == 1
        # Without a gradient scaler the graph may hold the backward pass too; fp16 needs one.
        is_graphed = is_graphed and self.accelerator.scaler is None
        self.graphed = GraphedLosses(self._losses, self.model) if is_graphed else None
        self.best_score: float | None = None  # of a validation so far

    def run(self, listen: Callable[[Progress], None] | None = None) -> dict[str, float]:
        """Train to the end from the newest state in the folder; the last validation's scores come back."""
        with plain_os_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        scaler = self.accelerator.scaler
        first_step, scaler_state = load_state(self.folder, self._weights(), self.optimizer)
        if scaler is not None and scaler_state:
            scaler.load_state_dict(scaler_state)
        if self.accelerator.is_main_process:
            keep_newest(self.folder)
        log = MetricsLog(self.folder / "metrics.jsonl", first_step, self.accelerator.is_main_process)
        batches = self.batches(self.inputs.plans(self.steps, first_step), first_step)
        self.best_score = log.best_score()
        scores = self._validate(0, log) if self.config.keep_best and not first_step else {}
        started_at, mark, lost = time.monotonic(), first_step, 0
        self.model.train()
        for step in range(first_step, self.steps):
            terms = self.step(batches, step)
            done = step + 1
            if done == 1 or done % 10 == 0 or done == self.steps:
                record = {name: float(mean_over_processes(value)) for name, value in terms.items()}
                if listen is not None and self.accelerator.is_main_process:
                    speed = (done - mark) * self.config.batch_size / (time.monotonic() - started_at)
                    listen(Progress(done, self.steps, record["loss"], speed, first_step))
                lost = 0 if math.isfinite(record["loss"]) else lost + 1
                if lost == MOST_LOST:
                    raise LocaterError(
                        f"The loss has not been a number for {10 * lost} steps, at step {done}; lower "
                        "training.learning_rate and start again from the last state."
                    )
                log.write({"step": done, **record, "rate": self.rate(step), **self._shares(done)})
                self.accelerator.log(record, step=done)
            if done % self.config.validate_every == 0 or done == self.steps:
                scores = self._validate(done, log)
            if done % self.config.save_every == 0 or done == self.steps:
                self._save(done)
        if self.accelerator.is_main_process:
            learning = sum(each.numel() for each in self.model.parameters() if each.requires_grad)
            write_training_page(self.folder, self.config, learning)
        self.accelerator.end_training()
        return scores

    def batches(self, plans: Iterator[Any], first_step: int) -> PrefetchedBatches:
        """The batches of plans that begin with those of `first_step`."""
        first = first_step * self.config.accumulate
        return PrefetchedBatches(plans, self.inputs.prepared, first, self.accelerator.device)

    def step(self, batches: PrefetchedBatches, step: int) -> dict[str, torch.Tensor]:
        """One optimiser step over all micro-batches; the last one's loss terms."""
        scale = self.rate(step)
        for group, full in zip(self.optimizer.param_groups, self.full_rates, strict=True):
            group["lr"] = full * scale
        terms: dict[str, torch.Tensor] = {}
        for _ in range(self.config.accumulate):
            records = batches.take()
            with self.accelerator.accumulate(self.wrapped):
                if self.graphed is not None:
                    terms = self.graphed(*records)
                else:
                    terms = self._losses(*records)
                    self.accelerator.backward(terms["loss"])
                if self.accelerator.sync_gradients and self.config.max_gradient_norm is not None:
                    norm = self.accelerator.clip_grad_norm_(self.model.parameters(), self.config.max_gradient_norm)
                    if self.accelerator.scaler is None:  # a gradient scaler does the same itself
                        skip_unless_finite(self.optimizer, norm)
                self.wrapped_optimizer.step()
                self.wrapped_optimizer.zero_grad(set_to_none=self.graphed is None)
        if self.average is not None:
            self.average.update(self.model, step)
        batches.prefetch()  # the GPU is busy with what was asked of it above
        return {name: value.detach() for name, value in terms.items()}

    def _losses(self, *records: Any) -> dict[str, torch.Tensor]:
        config = self.config
        with self.accelerator.autocast():
            prediction = self.wrapped(*records)
        terms = clip_loss(
            prediction,
            records[0],
            config.auxiliary_weight,
            config.dice_weight,
            config.motion_target_weight,
            config.presence_weight,
        )
        if self.recognised_by is None:
            return terms
        with torch.no_grad(), self.accelerator.autocast():
            before = self.recognised_by(records[0].frames).class_scores
        return with_classes_kept(terms, prediction.class_scores, before, config.recognition_weight)

    def _shares(self, steps: int) -> dict[str, Any]:
        """Of several sources, how many clips each has given by then."""
        seen = self.data.seen(steps * self.config.batch_size)
        return {"clips": dict(seen)} if seen else {}

    def _validate(self, step: int, log: MetricsLog) -> dict[str, float]:
        if not self.accelerator.is_main_process or not self.config.validation_videos:
            return {}
        config = self.config
        result = validate(
            self.trained,
            self.data,
            config.validation_videos,
            self.accelerator.device,
            config.precision,
            config.is_fine,
            config.is_fine and config.is_refined,
        )
        save_pictures(result, self.folder / "validation")
        log.write({"step": step, "validation": result.scores})
        self.accelerator.log({f"validation/{kind}": score for kind, score in result.scores.items()}, step=step)
        self._keep_if_best(result.scores)
        return result.scores

    def _keep_if_best(self, scores: dict[str, float]) -> None:
        score = mean_score(scores)
        if self.config.keep_best and (self.best_score is None or score > self.best_score):
            self.best_score = score
            save_pretrained(self.trained, self.folder / BEST)

    def _save(self, step: int) -> None:
        if self.accelerator.is_main_process:
            scaler = self.accelerator.scaler
            # Before the state: a run that finds the last one has nothing left to do, its checkpoint too.
            save_pretrained(self.trained, self.folder / "checkpoint")
            save_state(
                self.folder, step, self._weights(), self.optimizer, {} if scaler is None else scaler.state_dict()
            )
            keep_newest(self.folder)
        self.accelerator.wait_for_everyone()

    @property
    def trained(self) -> Locater:
        """The network to keep: the average of its weights where there is one."""
        return self.model if self.average is None else self.average.model

    def _weights(self) -> dict[str, nn.Module]:
        weights: dict[str, nn.Module] = {"model": self.model}
        return weights if self.average is None else weights | {"average": self.average.model}


def total_steps(config: TrainingConfig, data: TrainingData) -> int:
    """Optimiser steps of a whole training."""
    if config.steps is not None:
        return config.steps
    if data.clip_count is None:
        raise LocaterError("This data has no end, so epochs mean nothing; set training.steps.")
    return max(1, math.ceil(config.epochs * data.clip_count / config.batch_size))


def _plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings as trackers take them."""
    return {key: value if isinstance(value, (int, float, str)) else str(value) for key, value in settings.items()}
