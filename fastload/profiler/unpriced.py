"""What may help and was not tried here: each with the reason, and what is known of it all the same.

No figure in it is of this machine, unless it says so.
"""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from fastload.profiler.remedies import MILDER, Priced
from fastload.profiler.tried import NATIVE
from fastload.spec import Json

# From lowest to highest median of docs/peers.md, one and two cores, crops and flips and with
# RandAugment, by PyTorch's loader with Pillow; a test holds them against the rows.
SIMD, TENSORS, DROPIN = (1.2, 1.2), (1.0, 1.4), (6.1, 6.6)
DECODE = "decode"  # the stage of a worker that Pillow decodes in
WITHOUT = "without "  # names of remedies that leave ops out
ON_GPU = 'DataLoader(..., device="cuda")'


@dataclass(frozen=True)
class Unpriced:
    """A remedy without a figure of its own."""

    name: str  # what to do
    how: str  # to be copied
    why: str  # there is no figure, and what is known

    @property
    def text(self) -> str:
        how = f" ({self.how})" if self.how else ""
        return f"{self.name}{how}: {self.why}"


def of_command(
    facts: Json, priced: tuple[Priced, ...], stages: set[str], gpu: str | None
) -> tuple[Unpriced, ...]:
    """Of a program whose data set was tried; priced: what was measured; stages: of its workers."""
    trial = facts.get("trial")
    if not isinstance(trial, dict) or not trial.get("tier"):
        return ()
    native = trial["tier"] == NATIVE
    found = [*_shards(trial.get("folder")), *_gpu(gpu, priced, native=native)]
    return (*found, *(_pillow(native=native) if DECODE in stages else ()))


def of_recipe(
    folder: str | None, priced: tuple[Priced, ...], gpu: str | None, device: str
) -> tuple[Unpriced, ...]:
    """Of a recipe on fastload's native backend; folder: of plain files."""
    if device != "cpu":  # then "auto" has measured where the work is done
        return _shards(folder)
    return (*_shards(folder), *_gpu(gpu or "", priced, native=True))


def _shards(folder: str | None) -> tuple[Unpriced, ...]:
    if folder is None:
        return ()
    why = (
        "they hold the images once more, so nothing was written; they have a seek index, and are "
        "read in long pieces"
    )
    return (Unpriced("shards", f"fastload convert {shlex.quote(folder)} SHARDS", why),)


def _gpu(gpu: str | None, priced: tuple[Priced, ...], *, native: bool) -> Iterator[Unpriced]:
    """gpu: its name; empty where there is none here, None where none is meant."""
    if gpu is None:
        return
    where = "there is no GPU here" if not gpu else "its time on a GPU was not measured"
    if not native:
        why = f"which of your steps can do so is not known, and {where}"
        name = "steps on whole batches on the GPU, such as Kornia's or torchvision's v2"
        yield Unpriced(name, "images = more(images.cuda())", why)
        return
    without = [one for one in priced if _leaves_out(one)]
    if not without:
        yield Unpriced("decoding on the GPU", ON_GPU, where)
        return
    least = without[-1]  # the one that leaves out least: it keeps the crop
    rate, name = least.loader.median, least.alternative.name.rpartition(WITHOUT)[2]
    most = f"at most {rate:,.0f} images/s of the loader, measured without {name}"
    yield Unpriced(
        f"{name} on the GPU, by fastload or by Kornia after the loader",
        'DataLoader(..., device="cuda", augment="gpu")', f"{where}; {most}",
    )  # fmt: skip


def _leaves_out(one: Priced) -> bool:
    return one.alternative.cost == MILDER and WITHOUT in one.alternative.name


def _pillow(*, native: bool) -> tuple[Unpriced, ...]:
    """Faster decoding in PyTorch's own workers."""
    simd, tensors, ours = (
        f"{low} to {high}" if low < high else f"{low}" for low, high in (SIMD, TENSORS, DROPIN)
    )
    known = f"docs/peers.md has {simd} and {tensors} times Pillow's rate"
    why = (
        f"{known}, and {ours} for fastload's loader, which needs neither"
        if native
        else f"{known}; fastload's loader decodes the JPEGs of both"
    )
    return (Unpriced("Pillow-SIMD, or decode_image and v2 on tensors", "", why),)
