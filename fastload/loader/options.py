"""fastload's own keywords of a `DataLoader`: what each means, its default, and what is allowed."""

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


@dataclass(frozen=True, kw_only=True)
class LoaderOptions:
    """
    backend: "auto" (native where it can, else PyTorch's own engine; of those with the same pixels
             the fastest, once `fastload profile --backend all` has measured them), "native",
             "torch" (the reference), "ffcv" (FFCV's loop over a .beton file), "dali" (NVIDIA DALI,
             the same draws) or "dali-own" (DALI's own draws); all but "auto" raise where they
             cannot.
    device:  None or "cpu"; "cuda" fills batches on the current GPU, normalised there, "cuda:1" on
             that one.
    seed:    fixes order and augmentation for good; None draws one from `generator` at each iter(),
             as torch does.
    seek_index: "auto" uses the index of where JPEG decoding can begin, and collects in the first
             epoch what is missing of a folder's, in the user's cache; "use" only uses what is
             there; "off" decodes from each image's first tile.
    decode_scale: "exact"; "fast" decodes a JPEG at 1/2, 1/4 or 1/8 of its size where the crop's
             box is at least that much larger than what it is resized to. Faster, and the pixels
             differ a little from torchvision's.
    size_schedule: images of another size, batch by batch: ProgressiveResize, progressive.Ramp, a
             list of sizes per epoch (the last stays) or a function of the epoch; px. Epochs count
             from 0, as in set_epoch.
    mix:     transforms.MixUp, CutMix, LabelSmoothing or RandomChoice of them; labels become
             float32 [N, classes].
    decode, augment: "cpu", or with device="cuda" "gpu": where JPEGs are decoded and cropped, and
             where AUGMENT runs; the pixels are the same. "auto" tries what is possible in the first
             batches of each size, and stays with what leaves training fastest.
    seed_samples: True seeds Python, NumPy and torch before each sample of a data set that PyTorch's
             own engine runs, so that its augmentation does not depend on the worker count.
    on_error: of an image that cannot be read or decoded: "raise"; "substitute" puts another sample
             with its own label in its place; "skip" hands out a shorter batch.
    max_bad: how many of an epoch's samples may be bad: a share, rounded up, or a count.
    bad_samples: a file for the list of them, one line of JSON each; None: in the user's cache.
             docs/bad-images.md.
    snapshot_every_n_steps: how often worker processes send a data set's own state; other states
             cost nothing. docs/resume.md.
    """

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
        if self.seed is not None and not 0 <= self.seed < 1 << 64:
            raise UsageError(f"DataLoader: seed is {self.seed}, want 0 to 2**64 - 1")
        choices = (
            ("decode_scale", self.decode_scale, DECODE_SCALES, "'exact' or 'fast'"),
            ("decode", self.decode, PLACES, "'auto', 'cpu' or 'gpu'"),
            ("augment", self.augment, PLACES, "'auto', 'cpu' or 'gpu'"),
            ("seek_index", self.seek_index, collect.MODES, "'auto', 'use' or 'off'"),
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
