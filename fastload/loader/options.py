"""fastload's own keywords of a `DataLoader`: the default of each, and what is allowed."""

from dataclasses import dataclass, fields

import torch.utils.data

from fastload.backends.table import BACKENDS
from fastload.errors import UsageError
from fastload.plan.placement import PLACES
from fastload.progressive import SizeSchedule
from fastload.sources import collect
from fastload.system import devices
from fastload.transforms import Mix

ON_ERROR = ("raise", "substitute", "skip")
DECODE_SCALES = ("exact", "fast")
FLAGS = (True, False)


@dataclass(frozen=True, kw_only=True)
class LoaderOptions:
    """The values of fastload's own keywords; `DataLoader` documents each."""

    backend: str = "auto"
    device: str | None = None
    seed: int | None = None
    seek_index: str = "auto"
    decode_scale: str = "exact"
    size_schedule: SizeSchedule | None = None
    mix: Mix | None = None
    decode: str = "auto"
    augment: str = "auto"
    seed_samples: bool = False
    lazy_images: bool = True
    on_error: str = "raise"
    max_bad: float = 0.01
    bad_samples: str | None = None
    snapshot_every_n_steps: int | None = 1

    def check(self, dataset: object) -> None:
        """Raise UsageError or DeviceError for values that make no sense here, or with this data
        set; `backend` and `size_schedule` are checked at their use.
        """
        # Whether fastload's own kernels make the batches of device="cuda".
        kernels = self.backend not in BACKENDS or BACKENDS[self.backend].on_gpu
        devices.check(self.device, kernels=kernels)
        self._check_choices()
        steps = self.snapshot_every_n_steps
        if steps is not None and not _is_count(steps):
            raise UsageError(
                f"DataLoader: snapshot_every_n_steps is {steps!r}, want a whole number from 0, or "
                "None"
            )
        if problems := self._error_problems():
            raise UsageError("\n".join(f"DataLoader: {problem}" for problem in problems))
        if self.seed_samples and isinstance(dataset, torch.utils.data.IterableDataset):
            raise UsageError(
                "DataLoader: seed_samples=True, but an IterableDataset has no sample numbers to "
                "make seeds of; leave it out"
            )

    def _check_choices(self) -> None:
        if self.seed is not None and not (_is_count(self.seed) and self.seed < 1 << 64):
            raise UsageError(
                f"DataLoader: seed is {self.seed!r}, want None or a whole number "
                "from 0 to 2**64 - 1"
            )
        choices = (
            ("decode_scale", self.decode_scale, DECODE_SCALES, "'exact' or 'fast'"),
            ("decode", self.decode, PLACES, "'auto', 'cpu' or 'gpu'"),
            ("augment", self.augment, PLACES, "'auto', 'cpu' or 'gpu'"),
            ("seek_index", self.seek_index, collect.MODES, "'auto', 'use' or 'off'"),
            ("seed_samples", self.seed_samples, FLAGS, "True or False"),
            ("lazy_images", self.lazy_images, FLAGS, "True or False"),
        )
        for name, value, allowed, want in choices:
            if value not in allowed:
                raise UsageError(f"DataLoader: {name} is {value!r}, want {want}")

    def _error_problems(self) -> list[str]:
        """What is wrong with the options of bad images."""
        problems = []
        if self.on_error not in ON_ERROR:
            problems.append(f"on_error is {self.on_error!r}, want 'raise', 'substitute' or 'skip'")
        share = isinstance(self.max_bad, float) and 0 <= self.max_bad <= 1
        if not share and not _is_count(self.max_bad):
            problems.append(
                f"max_bad is {self.max_bad!r}, want a share of the samples (0.0 to 1.0) or a "
                "number of them (0, 1, …)"
            )
        if self.bad_samples is not None and self.on_error == "raise":
            problems.append(
                "bad_samples is given, but on_error='raise' lists none; leave it out, or use "
                "'substitute' or 'skip'"
            )
        return problems


OWN = tuple(field.name for field in fields(LoaderOptions))


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
