"""A profile of a recipe on a folder: makes the loader and the step, runs the ladder, and measures
what would help.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import torch.utils.data

from fastload import lowering
from fastload.attach.stages import unseen
from fastload.backends import choosing, measured
from fastload.backends.table import facts
from fastload.dataset import Dataset
from fastload.errors import UsageError
from fastload.loader import DataLoader
from fastload.plan.pipeline import Pipeline
from fastload.plan.plan import plan
from fastload.profiler import (
    cold,
    cuts,
    indexed,
    machine,
    remedies,
    sizes,
    stages,
    sweep,
    unpriced,
)  # fmt: skip
from fastload.profiler.batches import Endless
from fastload.profiler.findings import Setting, StepFacts
from fastload.profiler.indexed import NATIVE
from fastload.profiler.ladder import Budget, Ladder
from fastload.profiler.remedies import Alternative
from fastload.profiler.report import Report
from fastload.profiler.steps import EmulatedStep, RecipeStep
from fastload.profiler.verdict import GPU, decide
from fastload.progressive import PerEpoch
from fastload.recipes import Recipe
from fastload.remote.urls import public
from fastload.system.machine import usable_cores

CACHE, WORKERS = "cold page cache (--cold)", "other numbers of workers (--sweep)"
COLD = 0.2  # share of the budget for reading cold and warm
REPLAY = 0.06  # share of the budget for replaying stages
GPU_BATCH = 256  # per GPU, as the recipes train
SIZE_STEP_S = 0.5  # of a real step at another size
STEP_S = 0.05  # s, about the longest emulated step


@dataclass(frozen=True)
class Job:
    """What to profile. rate: images/s of an emulated step; None runs a real one on the GPU."""

    recipe: Recipe
    data: str
    rate: float | None
    rate_note: str = ""
    backend: str = "auto"  # or "all": auto, and every other one is measured too
    workers: int | None = None  # None: one per usable core
    batch_size: int | None = None
    device: str = "cpu"
    seconds: float = 40.0  # budget of the measuring; importing and opening come on top
    sweep: bool = False  # the loader with other numbers of workers too; beyond the budget
    cold: bool = False  # reading with a cold page cache too; beyond the budget
    verify: bool = False  # training with what helps too; beyond the budget
    model: str | None = None  # of a real step: another network than the recipe's
    # The loader cut off after each stage too, with `cold` from a cold page cache as well; beyond
    # the budget
    cuts: bool = False


def run(job: Job, on_done: Callable[[], None] = lambda: None) -> Report:
    """Measure and decide. Raises FastloadError."""
    started = time.perf_counter()
    budget = Budget(job.seconds, started)
    if job.rate is None and not torch.cuda.is_available():
        raise UsageError(
            "profile: torch sees no GPU here, so there is no training step to measure; "
            "assume one with --assume a100, h100 or h200, or with --step-rate IMAGES_PER_SECOND"
        )
    if job.recipe.views:
        raise UsageError(
            f"profile: recipe {job.recipe.name} makes several views of an image, and profile "
            "measures one; give another recipe"
        )
    pipeline = lowering.open(job.data, list(job.recipe.ops())).pipeline
    backend, reasons, _ = choosing.choose(
        "auto" if job.backend == "all" else job.backend, plan(pipeline), job.device
    )
    job = replace(job, workers=usable_cores() if job.workers is None else job.workers)
    if job.backend == "all":
        reasons = list(dict.fromkeys([*reasons, *remedies.cannot(pipeline, job.device)]))
    report = _measure(job, pipeline, backend, budget, on_done)
    report = replace(report, setting=replace(report.setting, why_backend=tuple(reasons)))
    # Nothing helps a loader that is fast enough.
    if report.verdict.label != GPU or job.backend == "all":
        report = _with_remedies(report, job, pipeline, backend, budget, on_done)
    if job.backend == "all":
        measured.remember(
            plan(pipeline), job.device, job.workers or 0, remedies.rates(report.remedies, backend)
        )
    report = _more(report, job, pipeline, backend, on_done)
    return replace(report, seconds=time.perf_counter() - started)


def batch_of(job: Job, backend: str) -> int:
    """Images per batch, where the user did not say."""
    if job.batch_size is not None:
        return job.batch_size
    if job.rate is None:
        return GPU_BATCH
    wanted = int(max(4.0, min(facts(backend).profiled_batch, job.rate * STEP_S)))
    return 1 << (wanted.bit_length() - 1)


def loader(
    job: Job,
    pipeline: Pipeline,
    backend: str,
    schedule: PerEpoch | None = None,
    *,
    mixes: bool = True,
    seek: str = "use",
    sampler: torch.utils.data.Sampler[int] | None = None,
) -> DataLoader[object]:
    dataset = Dataset(pipeline)
    sampler = sampler or Endless(len(dataset))
    device = job.device if job.device == "cuda" else None
    return DataLoader(
        dataset, batch_of(job, backend), sampler=sampler, num_workers=job.workers or 0,
        drop_last=isinstance(sampler, Endless),
        backend=backend, device=device, pin_memory=job.rate is None, seek_index=seek,
        size_schedule=schedule,
        mix=job.recipe.mix(classes(pipeline)) if mixes else None,
    )  # fmt: skip


def sized_loader(job: Job, pipeline: Pipeline, backend: str, size: int) -> DataLoader[object]:
    """The loader that a profile measures, with images of `size` px."""
    schedule = job.recipe.size_schedule()
    mode = schedule.mode if schedule else PerEpoch.mode
    return loader(job, pipeline, backend, PerEpoch((size,), mode))


def classes(pipeline: Pipeline) -> int:
    """Outputs of the model: ImageNet's, or more."""
    return max(1000, len(pipeline.source.classes))


def _step(job: Job, pipeline: Pipeline) -> EmulatedStep | RecipeStep:
    if job.rate is not None:
        return EmulatedStep(job.rate)
    return RecipeStep(job.recipe, classes(pipeline), model=job.model)


def _measure(
    job: Job, pipeline: Pipeline, backend: str, budget: Budget, on_done: Callable[[], None]
) -> Report:
    """The ladder and the stages; no remedies yet."""
    step = _step(job, pipeline)
    ladder = Ladder(loader(job, pipeline, backend), step)
    rungs, costs, how = ladder.climb(budget, on_done), ladder.costs(), stages.COUNTED
    evidence, taken = ladder.why(budget, rungs, on_done), ladder.taken()
    store = ladder.stored.found()
    del ladder  # its workers go, so that what follows has the machine to itself
    planned = plan(pipeline)
    if not costs:
        costs, how = stages.replay(planned, REPLAY * job.seconds), stages.REPLAYED
    by_size = _by_size(job, pipeline, backend, step, budget, on_done)
    setting = Setting(
        job.recipe.name, public(job.data), len(pipeline.source), backend, (), job.workers,
        batch_of(job, backend), planned.out.height, planned.out.width, job.device,
    )  # fmt: skip
    facts = StepFacts(step.kind, job.rate, job.rate_note or step.note)
    return Report(
        decide(rungs, costs, evidence), rungs, facts, setting, machine.facts(), 0.0, costs, how,
        evidence=evidence,
        not_included=left_out(job.recipe, step.kind), not_measured=not_measured(step.kind),
        sizes=by_size, taken=taken, store=store,
    )  # fmt: skip


def _by_size(
    job: Job,
    pipeline: Pipeline,
    backend: str,
    step: EmulatedStep | RecipeStep,
    budget: Budget,
    on_done: Callable[[], None],
) -> tuple[sizes.AtSize, ...]:
    """Step and loader at the sizes that the recipe trains at; empty if there is only one."""
    epochs = job.recipe.size_per_epoch()
    if len(set(epochs)) < 2:
        return ()
    make = partial(sized_loader, job, pipeline, backend)

    def step_rate(size: int, batch: object) -> float:
        return step.rate_at(size / epochs[-1], batch, SIZE_STEP_S)

    return sizes.measure(sizes.chosen(epochs), make, step_rate, budget, on_done)


def _more(
    report: Report, job: Job, pipeline: Pipeline, backend: str, on_done: Callable[[], None]
) -> Report:
    """What is measured only if it is asked for."""
    left = report.not_measured
    if job.sweep:
        numbers = sweep.counts(usable_cores(), job.workers)
        by_workers = sweep.measure(
            numbers,
            lambda workers: loader(replace(job, workers=workers), pipeline, backend),
            Budget(job.seconds, 0.0),
            on_done,
        )
        report = replace(report, workers=by_workers)
        left = tuple(text for text in left if text != WORKERS)
    if job.cuts:
        makers = cuts.of_pipeline(
            pipeline,
            batch_of(job, backend),
            job.workers or 0,
            lambda shorter: loader(job, shorter, backend, mixes=False),
            lambda: loader(job, pipeline, backend),
        )
        report = replace(
            report,
            cuts=cuts.measure(
                makers, Budget(job.seconds, 0.0), on_done, pipeline.source if job.cold else None
            ),
        )
    if job.cold and (reading := cold.measure(pipeline.source, COLD * job.seconds)):
        report = replace(report, reading=reading)
        left = tuple(text for text in left if text != CACHE)
    return replace(report, not_measured=left)


def _with_remedies(
    report: Report,
    job: Job,
    pipeline: Pipeline,
    backend: str,
    budget: Budget,
    on_done: Callable[[], None],
) -> Report:
    def make(alternative: Alternative) -> DataLoader[object]:
        return loader(job, pipeline.with_ops(alternative.ops), alternative.backend)

    candidates = remedies.alternatives(pipeline, backend, job.device, asked=job.backend == "all")
    useful = (other for other in candidates if other.asked or report.verdict.label != GPU)
    plain = backend == NATIVE and report.verdict.label != GPU
    indexing = (partial(loader, job, pipeline, backend), remedies.SHORTER * budget.run, on_done)
    first = indexed.price(pipeline.source, *indexing) if plain else ()
    priced, skipped, failed = remedies.price(
        useful, lambda: loader(job, pipeline, backend), make, budget, on_done
    )
    if job.verify:
        priced = remedies.verify(
            priced, lambda other: Ladder(make(other), _step(job, pipeline)), budget, on_done
        )
    priced = (*first, *priced)  # an index of some images is no loader to train with
    late = (f"for want of time (--seconds): {', '.join(skipped)}",) if skipped else ()
    found = replace(report, remedies=priced, not_measured=late + failed + report.not_measured)
    if not plain:
        return found
    folder, gpu = indexed.folder_of(pipeline.source), found.machine["gpu"]
    return replace(found, unpriced=unpriced.of_recipe(folder, priced, gpu, job.device))


def left_out(recipe: Recipe, kind: str) -> tuple[str, ...]:
    """Parts of the recipe that a profile with this kind of step does not run, in words."""
    training, emulated = recipe.training, kind == EmulatedStep.kind
    repeats = training.repeated_augmentation
    parts = {
        f"repeated augmentation ({repeats} of each image)": repeats > 1,
    }
    in_step = {
        f"SAM (two gradients every {training.sam.interval} steps)"
        if training.sam
        else "": training.sam,
        "EMA": training.ema,
        "BlurPool": training.blurpool,
        "stochastic depth": training.stochastic_depth,
        "binary cross-entropy": training.loss.name == "binary_cross_entropy",
    }
    return tuple(text for text, there in (parts | (in_step if emulated else {})).items() if there)


def not_measured(kind: str) -> tuple[str, ...]:
    """What this ladder has no rung for."""
    emulated = ("host-to-device copies and kernel launches",) if kind == "emulated" else ()
    return (*filter(None, (unseen(),)), *emulated, CACHE, WORKERS, "several GPUs")
