"""A forecast from a recipe and a folder: what is measured here, and what is asked."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
import torch

from fastload import lowering
from fastload.backends import choosing
from fastload.errors import UsageError
from fastload.forecast import machines, measuring, notes, power, published, steps
from fastload.forecast.findings import Forecast
from fastload.forecast.machines import Machine
from fastload.forecast.measuring import Measured
from fastload.forecast.model import Question
from fastload.forecast.steps import Gpu
from fastload.plan.pipeline import Pipeline
from fastload.plan.plan import plan
from fastload.profiler import job as profiling
from fastload.profiler import machine, sizes
from fastload.profiler.steps import RecipeStep
from fastload.recipes import Recipe, rates
from fastload.remote.urls import public
from fastload.sources.layered import read_as_loaded
from fastload.system.machine import usable_cores

CPU_BATCH = 16  # of a step on the CPU
LOOKED = 64  # images whose bytes are counted
FAST = 1e9  # images/s: of no step at all


@dataclass(frozen=True)
class Job:
    """What to forecast. None: as the recipe, the data or this machine have it."""

    recipe: Recipe
    data: str
    images: int | None = None  # of an epoch
    machine: Machine | None = None  # None: this one
    gpus: int = 1
    assume: str | None = None  # a GPU of rates.toml
    step_rate: float | None = None  # images/s of one GPU at the recipe's full size
    cpu_step: bool = False  # the recipe's step, run on this CPU
    model: str | None = None  # of a step that runs: another network than the recipe's
    price: float | None = None  # per hour
    price_energy: float | None = None  # per kWh
    price_disk: float | None = None  # of a TB for a month
    target: float | None = None  # top-1, 0..1
    backend: str = "auto"
    workers: int | None = None
    batch_size: int | None = None
    seconds: float = 40.0  # of measuring
    most: int = sizes.MOST  # sizes of the recipe that are measured
    command: str = ""  # that asks for this forecast again

    @property
    def where(self) -> Machine:
        """The machine that is asked for."""
        if self.machine is not None:
            return self.machine
        return replace(machines.here(self.gpus, self.assume), step_rate=self.step_rate)

    @property
    def cost_per_hour(self) -> float | None:
        return self.price if self.price is not None else self.where.price


class Bench:
    """The data set, ready to be measured with any recipe and backend."""

    def __init__(self, job: Job, on_done: Callable[[], None]) -> None:
        self.job, self.on_done = job, on_done
        self.workers = usable_cores() if job.workers is None else job.workers

    def gpu(self, recipe: Recipe, where: Machine) -> Gpu | None:
        """The step of one GPU there, assumed; None: it runs here. Raises UsageError."""
        if where.gpu is not None:
            return steps.named(rates.rate(where.gpu), recipe)
        if where.step_rate is not None:
            return steps.given(where.step_rate, recipe)
        if not self.job.cpu_step and not torch.cuda.is_available():
            raise UsageError(
                "plan: torch sees no GPU here, so there is no training step to measure; assume "
                "one with --assume a100, h100 or h200, give --step-rate IMAGES_PER_SECOND, or "
                "measure the recipe's step on this CPU with --cpu-step"
            )
        return None

    def pipeline(self, recipe: Recipe) -> Pipeline:
        """Raises FastloadError."""
        if recipe.views:
            raise UsageError(
                f"plan: recipe {recipe.name} makes several views of an image, and plan measures "
                "one; give another recipe"
            )
        return lowering.open(self.job.data, list(recipe.ops())).pipeline

    def profile(self, recipe: Recipe, gpu: Gpu | None, workers: int) -> profiling.Job:
        """What the profiler makes loaders from."""
        job, rate = self.job, None
        if gpu is not None:
            rate = gpu.images_per_s.value
        elif job.cpu_step:
            rate = FAST  # a step of its own follows; nothing is pinned
        batch = job.batch_size or (CPU_BATCH if job.cpu_step else None)
        return profiling.Job(
            recipe, job.data, rate, backend=job.backend, workers=workers, batch_size=batch
        )

    def measured(
        self,
        recipe: Recipe,
        gpu: Gpu | None,
        backend: str,
        *,
        seconds: float,
        workers: int | None = None,
        most: int | None = None,
    ) -> Measured:
        """Rates with that recipe. most: sizes that are measured; None: the job's."""
        pipeline = self.pipeline(recipe)
        workers = self.workers if workers is None else workers

        def make(size: int, fewer: int | None) -> Iterable[object]:
            job = self.profile(recipe, gpu, workers if fewer is None else fewer)
            return profiling.sized_loader(job, pipeline, backend, size)

        step = None
        if gpu is None:
            device = "cpu" if self.job.cpu_step else "cuda"
            classes = profiling.classes(pipeline)
            step = RecipeStep(recipe, classes, device, self.job.model)
        picked = sorted(sizes.chosen(recipe.size_per_epoch(), most or self.job.most))
        counters = power.counters(on_gpu=step is not None and not self.job.cpu_step)
        return measuring.measure(
            make, picked, step, workers, usable_cores(), seconds, self.on_done, counters
        )

    def backend(self, recipe: Recipe) -> str:
        """The one that runs the recipe. Raises BackendError."""
        return choosing.choose(self.job.backend, plan(self.pipeline(recipe)), "cpu").backend


def image_bytes(pipeline: Pipeline) -> float:
    """What is read of an image; mean of some."""
    source = pipeline.source
    picks = np.random.default_rng(0).permutation(len(source))[:LOOKED]
    return float(np.mean([len(read_as_loaded(source, int(sample))) for sample in picks]))


def question(bench: Bench, recipe: Recipe, where: Machine, pipeline: Pipeline) -> Question:
    """Raises UsageError where the step there is not known."""
    job = bench.job
    return Question(
        recipe, recipe.size_per_epoch(), job.images or len(pipeline.source),
        image_bytes(pipeline), where, bench.gpu(recipe, where), here=job.machine is None,
    )  # fmt: skip


def run(job: Job, on_done: Callable[[], None] = lambda: None) -> Forecast:
    """Measure and forecast. Raises FastloadError."""
    begin, bench = time.perf_counter(), Bench(job, on_done)
    recipe, where = job.recipe, job.where
    gpu = bench.gpu(recipe, where)  # what cannot be is said before anything is opened
    pipeline, backend = bench.pipeline(recipe), bench.backend(recipe)
    asked = question(bench, recipe, where, pipeline)
    measured = bench.measured(recipe, gpu, backend, seconds=job.seconds)
    took = time.perf_counter() - begin  # more than --seconds, where that is too short
    batch = profiling.batch_of(bench.profile(recipe, gpu, bench.workers), backend)
    return Forecast(
        asked, measured, public(job.data), len(pipeline.source), backend, batch,
        notes.step(gpu, job.cpu_step, measured), job.cost_per_hour, job.target,
        published.load().of(recipe.name),
        notes.extrapolated(asked, measured, len(pipeline.source), took),
        notes.left_out(asked), machine.facts(), job.command, took,
        price_energy=job.price_energy, price_disk=job.price_disk,
    )  # fmt: skip
