"""The trainings: a loader, a step, and what slows them.

Times are of one worker, ms per batch of 4 images.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product

IMAGES = 4  # per batch
STEP = 5.0  # ms
SLOW = {"ahead": 20.0}  # ms of a step that is not STEP, by kind
# Ms of a step that is to be the limit: beside it, what PyTorch's queue takes per batch is no stall
RESTS = 60.0
CPU = ("dataset", "decode", "augment", "python", "collate")  # causes that burn CPU time in a worker
PLAIN = ("read", *CPU)
LOADERS = (("torch", 0), ("torch", 1), ("torch", 2), ("iterable", 1))
HEADLINES = {
    "step": ("GPU-BOUND",), "read": ("READ-BOUND",), "dataset": ("CPU-BOUND: dataset",),
    "decode": ("CPU-BOUND: decode",),
    "augment": ("CPU-BOUND: Blur", "CPU-BOUND: augment"), "python": ("CPU-BOUND: Loop",),
    "collate": ("CPU-BOUND: collate",),
    "payload": ("CPU-BOUND: collate",), "copy": ("H2D-BOUND",), "jitter": ("JITTER",),
    "neighbour": ("CPU-CONTENTION", "WORKER-STARVED"), "others": ("CPU-CONTENTION",
    "WORKER-STARVED"), "overlap": ("OVERLAP-BOUND",),
}  # fmt: skip


@dataclass(frozen=True)
class Scenario:
    """One training.

    costs: by cause, ms per batch; of "payload" MB per batch, of "neighbour" processes that burn CPU
    time.
    """

    name: str
    loader: str  # "torch" (a map-style data set), "iterable" or "native" (fastload's, over JPEGs)
    workers: int
    costs: Mapping[str, float]
    step: float = STEP  # ms; of "native": its loader's time x this
    # The host waits for the step; "ahead": it runs ahead, as beside a GPU; "spin": the step burns
    # CPU time
    step_kind: str = "sleep"
    every: int = 1  # batches from one late one to the next, of "jitter"
    side: int = 320  # px, of the JPEGs of "native"
    only_worker: int | None = None  # the one that the costs are of; None: all
    group: str = field(default="")

    @property
    def causes(self) -> tuple[str, ...]:
        """What can be taken away, but for the step."""
        return (
            *(name for name, cost in self.costs.items() if cost),
            *(("overlap",) if not self.workers else ()),
        )

    def without(self, cause: str) -> "Scenario":
        if cause == "step":
            return replace(self, step=0.0)
        if cause == "overlap":
            return replace(self, workers=1)
        return replace(
            self, costs={name: cost for name, cost in self.costs.items() if name != cause}
        )

    def scaled(self, factor: float) -> "Scenario":
        """All times `factor` times as long: beside it, what the loader costs anyway weighs less."""
        if self.loader == "native":
            return self
        costs = {
            name: cost * (1 if name in ("neighbour", "payload") else factor)
            for name, cost in self.costs.items()
        }
        return replace(self, step=self.step * factor, costs=costs)


def every_one() -> list[Scenario]:
    """All of them, in an order in which any part of the list has some of each kind."""
    found = [*plain(), *mixed(), *sizes(), *ahead(), *special(), *native(), *controls()]
    spread = sorted(
        enumerate(found), key=lambda one: (one[0] * 0.6180339887) % 1
    )  # the golden ratio's multiples fill evenly
    return [scenario for _, scenario in spread]


def _name(cause: str, amount: object, loader: str, workers: int, more: str = "") -> str:
    return f"{cause} {amount} {loader}-{workers}{more and ' ' + more}"


def plain() -> Iterator[Scenario]:
    """One cause that takes 1.5 to 3 times what the step leaves."""
    for cause, ratio, (loader, workers) in product(PLAIN, (1.5, 2.0, 3.0), LOADERS):
        yield Scenario(
            _name(cause, ratio, loader, workers),
            loader,
            workers,
            {cause: ratio * STEP * max(1, workers)},
            group="one cause",
        )


def mixed() -> Iterator[Scenario]:
    """A cause and, beside it, a third of it."""
    for number, cause in enumerate(PLAIN):
        beside = PLAIN[(number + 1) % len(PLAIN)]
        for loader, workers in (("torch", 1), ("iterable", 1)):
            costs = {cause: 1.5 * STEP, beside: 0.5 * STEP}
            yield Scenario(
                _name(f"{cause}+{beside}", 2.0, loader, workers),
                loader,
                workers,
                costs,
                group="two causes",
            )


def sizes() -> Iterator[Scenario]:
    """Shorter and longer steps."""
    for cause, step in product(PLAIN, (3.0, 15.0)):
        yield Scenario(
            _name(cause, 2.0, "torch", 1, f"step {step:g}"),
            "torch",
            1,
            {cause: 2 * step},
            step,
            group="one cause",
        )


def ahead() -> Iterator[Scenario]:
    """The host runs ahead of the step: its waits are not the GPU's."""
    for cause, ratio in product(PLAIN, (1.5, 3.0)):
        costs = {cause: ratio * SLOW["ahead"]}
        yield Scenario(
            _name(cause, ratio, "torch", 1, "ahead"),
            "torch",
            1,
            costs,
            SLOW["ahead"],
            "ahead",
            group="one cause",
        )


def special() -> Iterator[Scenario]:
    """Faults that a single number of seconds per sample does not describe."""
    yield from uneven()
    yield from contended()
    yield from heavy_batches()


def uneven() -> Iterator[Scenario]:
    """Single batches that are late, and copies to the device."""
    for (every, late), (loader, workers) in product(
        ((11, 7), (15, 11), (23, 16)), (("torch", 1), ("torch", 2), ("iterable", 1))
    ):
        costs = {"read": 0.2 * STEP, "jitter": late * STEP}
        yield Scenario(
            _name("jitter", f"{late}/{every}", loader, workers),
            loader,
            workers,
            costs,
            every=every,
            group="jitter",
        )
    for ratio, (loader, workers) in product(
        (0.5, 1.5, 3.0), (("torch", 1), ("torch", 2), ("iterable", 1))
    ):
        yield Scenario(
            _name("copy", ratio, loader, workers),
            loader,
            workers,
            {"read": 0.3 * STEP, "copy": ratio * STEP},
            group="copies",
        )


def contended() -> Iterator[Scenario]:
    """Neighbours on the same cores, and one slow worker of two."""
    for count, share, workers in product((4, 8), (0.14, 0.155, 0.17), (1, 2)):
        # Five alike: were it one, taking it away would help as much as taking the neighbours away.
        costs = {**dict.fromkeys(CPU, share * STEP * workers), "neighbour": count}
        yield Scenario(
            _name(f"{count} neighbours", share, "torch", workers),
            "torch",
            workers,
            costs,
            group="contention",
        )
    for ratio, cause in product(
        (3.0, 4.0), ("read", "decode")
    ):  # at 2.0 the two of them would just keep up
        yield Scenario(
            _name("slow worker", f"{cause} {ratio}", "torch", 2),
            "torch",
            2,
            {cause: ratio * STEP},
            only_worker=1,
            group="slow worker",
        )


def heavy_batches() -> Iterator[Scenario]:
    """Large batches, and work that nothing overlaps."""
    for size, workers in product((4.0, 12.0), (0, 1)):
        name = _name("payload", f"{size} MB", "torch", workers)
        yield Scenario(name, "torch", workers, {"payload": size}, 1.0, group="large batches")
    for first, share in product(
        ("read", "decode"), (0.2, 0.25)
    ):  # three alike, for the same reason
        costs = dict.fromkeys((first, "augment", "collate"), share * STEP)
        yield Scenario(
            _name(f"{first}+augment+collate", share, "torch", 0),
            "torch",
            0,
            costs,
            group="nothing overlaps",
        )


def native() -> Iterator[Scenario]:
    """fastload's own loader. decode, augment: 1 or 0; step: as a share of what a batch takes the
    loader.
    """
    for side, workers, ratio in product((320, 640), (1, 2), (1.5, 3.0)):
        name = _name("decode", f"{ratio} {side} px", "native", workers)
        yield Scenario(
            name, "native", workers, {"decode": 1.0}, 1 / ratio, side=side, group="fastload"
        )
    for workers, ratio in product((1, 2), (1.5, 2.0, 3.0)):
        name = _name("augment", ratio, "native", workers)
        yield Scenario(
            name,
            "native",
            workers,
            {"decode": 1.0, "augment": 1.0},
            1 / ratio,
            side=160,
            group="fastload",
        )
    for count in (4, 8):
        costs = {"decode": 1.0, "neighbour": count}
        yield Scenario(
            _name(f"{count} neighbours", "decode", "native", 1),
            "native",
            1,
            costs,
            1.4,
            group="fastload",
        )


def controls() -> Iterator[Scenario]:
    """The step is the limit."""
    yield from plain_controls()
    yield from special_controls()


def plain_controls() -> Iterator[Scenario]:
    """One cause, of less than the step."""
    for cause, ratio, (loader, workers) in product(PLAIN, (0.2, 0.6), LOADERS[1:]):
        costs = {cause: ratio * RESTS * workers}
        yield Scenario(
            _name(cause, ratio, loader, workers), loader, workers, costs, RESTS, group="control"
        )
    for cause in ("read", "decode"):
        for ratio, workers, training in ((0.01, 0, ()), (0.6, 1, ("ahead",)), (0.4, 1, ("spin",))):
            name = _name(cause, ratio, "torch", workers, *training)
            costs = {cause: ratio * RESTS}
            yield Scenario(name, "torch", workers, costs, RESTS, *training, group="control")


def special_controls() -> Iterator[Scenario]:
    """Late batches and large images that the step hides."""
    for every in (11, 23):  # what was prefetched covers the late one
        costs = {"read": 0.2 * RESTS, "jitter": 2 * RESTS}
        yield Scenario(
            _name("jitter", f"2/{every}", "torch", 2),
            "torch",
            2,
            costs,
            RESTS,
            every=every,
            group="control",
        )
    for workers in (1, 2):  # large images, for the same reason
        yield Scenario(
            _name("decode", 0.25, "native", workers),
            "native",
            workers,
            {"decode": 1.0},
            4.0,
            side=640,
            group="control",
        )
