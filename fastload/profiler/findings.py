"""The results of a profile, as data: `report` makes JSON of them, `render` text."""

from dataclasses import dataclass, field

from fastload.profiler.cold import Reading
from fastload.profiler.cuts import Cut
from fastload.profiler.evidence import Evidence, Rungs, StageCost
from fastload.profiler.foreseen import Foreseen
from fastload.profiler.interference import Taken
from fastload.profiler.remedies import Priced
from fastload.profiler.sizes import AtSize
from fastload.profiler.stored import FromStore
from fastload.profiler.sweep import AtWorkers
from fastload.profiler.tried import Tried
from fastload.profiler.unpriced import Unpriced
from fastload.profiler.verdict import Verdict
from fastload.spec import Json


@dataclass(frozen=True)
class Setting:
    """What was profiled; None where another library's loader does not tell."""

    recipe: str | None = None
    data: str | None = None
    images: int | None = None
    backend: str | None = None
    why_backend: tuple[str, ...] = ()  # why better ones cannot run it
    workers: int | None = None
    batch_size: int | None = None
    height: int | None = None  # px of a training image
    width: int | None = None
    device: str | None = None


@dataclass(frozen=True)
class StepFacts:
    """Where the training step came from."""

    # "emulated", "recipe", "callable", or, within a running program, "attached" or "replayed"
    kind: str
    assumed: float | None = None  # images/s, of an emulated step
    note: str = ""  # what the reader must know about it


@dataclass(frozen=True)
class Findings:
    """What a profile measured and concluded. Rates in images/s."""

    verdict: Verdict
    rungs: Rungs
    step: StepFacts
    setting: Setting
    machine: Json
    seconds: float  # of the whole profile
    stages: tuple[StageCost, ...] = ()
    stages_how: str = ""
    remedies: tuple[Priced, ...] = ()
    not_included: tuple[str, ...] = ()  # parts of the recipe that were not run
    not_measured: tuple[str, ...] = ()
    sizes: tuple[AtSize, ...] = ()  # of a size schedule, ascending; the rungs are of the full size
    evidence: Evidence = field(default_factory=Evidence)
    workers: tuple[AtWorkers, ...] = ()  # ascending; the rungs are of setting.workers
    reading: Reading | None = None  # with a cold and a warm page cache
    cuts: tuple[Cut, ...] = ()  # the loader cut off after each stage, the whole one last
    tried: Tried | None = None  # fastload's loader in a program that uses another one
    foreseen: tuple[Foreseen, ...] = ()  # what would help a running program, and was not run
    unpriced: tuple[Unpriced, ...] = ()  # what may help, and why it has no figure
    taken: Taken | None = None  # by the loader from the training's process; None: not measured
    store: FromStore | None = None  # None: the data are local
