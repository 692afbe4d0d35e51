"""A known data set with steps of the user's own in its transform: PyTorch's own engine runs it, and
what stands behind the user's steps runs natively (`ending`).

The user's data set is not touched. A copy of it, with the same samples, has a transform that is
divided; it is made in the process that makes batches, and again whenever something has changed.
"""

from collections.abc import Callable
from typing import Any, cast

import torch
from torch.utils.data import ConcatDataset, Subset, default_collate

from fastload.loader import ending
from fastload.loader.ending import Room
from fastload.lowering import arrays, loaders, reach
from fastload.lowering.datasets import JOINT, transforms_of
from fastload.lowering.folders import kind_of
from fastload.lowering.names import altered
from fastload.order.seeding import Around

Names = tuple[str, ...]


def steps(dataset: object) -> Names:
    """Names of the steps that run natively though the data set does not."""
    reach.refresh()
    try:
        return _copied(dataset, Room())[1]
    except Exception:  # noqa: BLE001  a program may have put anything into its objects
        return ()


class Divided(Around):
    """The user's data set, run by the copy."""

    def __init__(self, dataset: object) -> None:
        super().__init__(dataset)
        self.__dict__.update(room=Room(), stacked=False, _copy=None, _kept=None)

    def __getitems__(self, indices: list[object]) -> list[object]:
        room, copy = self.__dict__["room"], self._current()
        room.begin(len(indices) if self.__dict__["stacked"] else 0)
        samples = []
        for position, index in enumerate(indices):
            room.position = position
            samples.append(copy[index])
            copy = self._current(begun=True)
        return samples

    def __getitem__(self, index: object) -> object:
        self.__dict__["room"].begin(0)
        return self._current()[index]

    def _current(self, *, begun: bool = False) -> Any:
        """The copy, of the data set as it is now.

        begun: within a batch, whose endings were looked at when it began.
        """
        held = self.__dict__
        now, room = _state(held["_inside"]), held["room"]
        if (
            held["_copy"] is None
            or not _same(held["_kept"], now)
            or not (begun or all(each.holds() for each in room.endings))
        ):
            reach.refresh()
            room.endings.clear()
            held["_copy"], held["_kept"] = _or_itself(held["_inside"], room), now
        return held["_copy"]

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_copy": None, "_kept": None}


class Collated:
    """PyTorch's default_collate, of samples whose images may lie in their batch already."""

    def __init__(self, room: Room) -> None:
        self.room = room

    def __call__(self, samples: Any) -> Any:
        batch = self.room.taken(samples)
        if batch is None:
            return default_collate(samples)
        return [batch, *default_collate([sample[1:] for sample in samples])]


def collating(divided: Divided, collate_fn: Callable[..., object]) -> Callable[..., object]:
    """The function that makes batches of the data set's samples."""
    if not loaders.stacks(collate_fn, None) or loaders.patched(collate_fn):
        return collate_fn
    divided.__dict__["stacked"] = True
    return Collated(divided.__dict__["room"])


def _or_itself(dataset: object, room: Room) -> object:
    try:
        return _copied(dataset, room)[0]
    except Exception:  # noqa: BLE001  as in `steps`
        return dataset


def _copied(dataset: object, room: Room) -> tuple[object, Names]:
    """The copy of a data set; the data set itself where nothing is divided."""
    if altered(dataset):
        return dataset, ()
    if type(dataset) is Subset:
        inner, names = _copied(dataset.dataset, room)
        return (_with(dataset, dataset=inner), names) if names else (dataset, ())
    if type(dataset) is ConcatDataset:
        parts = [_copied(part, room) for part in dataset.datasets]
        names = tuple(dict.fromkeys(name for _, some in parts for name in some))
        copies = [part for part, _ in parts]
        return (_with(dataset, datasets=copies), names) if names else (dataset, ())
    if kind_of(dataset) is None and not arrays.knows(dataset):
        return dataset, ()
    transform, of_target = transforms_of(dataset)
    chain, names = ending.divided(transform, room)
    if not names:
        return dataset, ()
    if type(dataset).__name__ in JOINT:
        joint = type(cast("Any", dataset).transforms)(chain, of_target)
        return _with(dataset, transform=chain, transforms=joint), names
    return _with(dataset, transform=chain), names


def _with(dataset: object, /, **changed: object) -> object:
    copy = object.__new__(type(dataset))
    copy.__dict__.update(vars(dataset), **changed)
    return copy


def _state(dataset: object) -> list[object]:
    """What the copy was made of: compared by identity."""
    parts = [dataset]
    out: list[object] = [torch.get_default_dtype()]
    while parts:
        part = parts.pop()
        held = getattr(part, "__dict__", {})
        out += held.values()
        if type(part) in (Subset, ConcatDataset):
            parts += [held["dataset"]] if "dataset" in held else held["datasets"]
            continue
        for chain in (held.get("transform"), getattr(held.get("transforms"), "transform", None)):
            for step in getattr(chain, "transforms", None) or ():
                out += [step, *getattr(step, "__dict__", {}).values()]
    return out


def _same(kept: list[object], now: list[object]) -> bool:
    return len(kept) == len(now) and all(map(_is, kept, now))


def _is(one: object, other: object) -> bool:
    return one is other
