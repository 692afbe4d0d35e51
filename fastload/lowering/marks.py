"""Whether a data set is still what it was when its loader looked at it.

What is compared is what PyTorch would read: everything that lowering has read. The values are kept,
so that an address is never another object's. Lists are copied (8 bytes per item) and compared item
by item, by identity; arrays by a hash.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import FunctionType

import numpy as np
import torch
from torch.utils.data import ConcatDataset, Subset

from fastload import _native
from fastload.dataset import Dataset
from fastload.detection import Detection, WithPartners
from fastload.lowering import arrays, detection, joint_reads, masks, own, reach
from fastload.lowering.chain import lower_parts, lower_pictures
from fastload.lowering.datasets import transforms_of
from fastload.lowering.folders import kind_of
from fastload.lowering.names import altered, attribute, image_backend

ATOMS = (str, bytes, int, float, bool, type(None), range)
Check = Callable[[object], bool]


class Marks:
    """Values as they are now."""

    def __init__(self, values: Iterable[object] = ()) -> None:
        self.checks = tuple(map(_check, values))

    def fit(self, values: Iterable[object]) -> bool:
        """Whether these are the same values, unchanged. A list of a million items takes 1 ms."""
        now = list(values)
        return len(now) == len(self.checks) and all(
            check(value) for check, value in zip(self.checks, now, strict=True)
        )

    def __reduce__(self) -> tuple[type["Marks"], tuple[()]]:
        return Marks, ()  # of a copy's data set nothing is known yet


class Equal:
    """A value of ours, of which equality counts: reasons, ops, settings."""

    def __init__(self, value: object) -> None:
        self.value = value


class Live:
    """An array of which only the address counts: its contents are read again for each batch."""

    def __init__(self, value: object) -> None:
        self.value = value


def watched(dataset: object) -> Iterator[object]:
    """Every value that `lower` reads of it, but what cannot change. Raises nothing."""
    reach.refresh()
    try:
        yield from _watched(dataset)
    except Exception as error:  # noqa: BLE001  a program may have put anything into its objects
        yield f"{type(error).__name__}: {error}"


def _watched(dataset: object, around: tuple[int, ...] = ()) -> Iterator[object]:
    """around: the data sets that this one is part of."""
    if id(dataset) in around:
        raise RecursionError("a data set holds itself")
    inside = (*around, id(dataset))
    yield type(dataset)
    if type(dataset) is Dataset:
        yield dataset.pipeline
    elif type(dataset) is Detection:
        yield from (Equal(altered(dataset)), *detection.reads_own(dataset))
        yield Equal(joint_reads.reads(dataset.transforms))
    elif type(dataset) is WithPartners:
        yield from (Equal(altered(dataset)), Equal(joint_reads.reads(dataset.transforms)))
        yield from _watched(dataset.data, inside)
    elif type(dataset) is Subset:
        yield from (Equal(altered(dataset)), dataset.indices)
        yield from _watched(dataset.dataset, inside)
    elif type(dataset) is ConcatDataset:
        yield from (Equal(altered(dataset)), dataset.datasets, dataset.cumulative_sizes)
        for part in dataset.datasets:
            yield from _watched(part, inside)
    elif (inner := masks.wrapped(dataset)) is not None:
        yield from _of_wrapper(dataset, inner)
        yield from masks.reads(inner)
        given = attribute(dataset, "transforms")
        yield Equal(masks.joint(given, partial(lower_parts, own=False)))
        yield Equal(joint_reads.reads(given))
    elif (inner := masks.wrapped(dataset, detection.KINDS)) is not None:
        yield from _of_wrapper(dataset, inner)
        yield from detection.reads(inner)
        yield Equal(joint_reads.reads(attribute(dataset, "transforms")))
    else:
        yield from _of_files_or_arrays(dataset)


def _of_wrapper(dataset: object, inner: object) -> Iterator[object]:
    """torchvision's wrapper, and the data set inside it."""
    yield from (type(inner), Equal(altered(dataset)), Equal(altered(inner)), Equal(image_backend()))
    yield Equal(reach.is_whole(vars(dataset).get("_wrapper")))


def _of_files_or_arrays(dataset: object) -> Iterator[object]:
    kind, held = kind_of(dataset), getattr(dataset, "__dict__", {})
    if kind is None and not arrays.knows(dataset):
        yield Equal(own.facts(dataset))
        return
    loader = held.get("loader")
    yield from (Equal(altered(dataset)), Equal(image_backend()))
    yield Equal(reach.changed(loader) if isinstance(loader, FunctionType) else [])
    yield from _transforms(dataset)
    yield from (held.get(name) for name in ("root", "classes", "loader"))
    if kind is None:
        images, labels = arrays.reads(dataset)
        yield from (Live(images), labels)
    else:
        yield from (held.get(name) for name in kind.reads)
    if (reader := held.get("reader")) is not None:  # timm's
        yield from (
            type(reader),
            Equal(altered(reader)),
            *map(vars(reader).get, ("samples", "root")),
        )
        yield Equal(dict(vars(reader).get("class_to_idx") or {}))
        yield from map(held.get, ("load_bytes", "input_img_mode", "additional_features"))


def _transforms(dataset: object) -> Iterator[object]:
    try:
        transform, target_transform = transforms_of(dataset)
    except ValueError as error:
        yield str(error)  # why it is not lowered
    else:
        yield from (target_transform, Equal(lower_pictures(transform)))


def _check(value: object) -> Check:
    """How a later value of the same attribute is compared with this one."""
    if type(value) is Equal:
        return partial(_equal, value.value)
    if type(value) is Live:
        return partial(_same_address, value.value, _address(value.value))
    if type(value) is list:
        kinds = set(map(type, value))
        if kinds == {list}:
            return partial(_same_rows, [tuple(row) for row in value])
        return partial(
            _same_list,
            [list(row) if type(row) is list else row for row in value]
            if list in kinds
            else list(value),
        )
    if issubclass(type(value), (np.ndarray, torch.Tensor)):
        return partial(_same_array, _content(value))
    if type(value) in ATOMS:
        return partial(_same_atom, value)
    return partial(_same, value)


def _same(kept: object, now: object) -> bool:
    return kept is now


def _same_atom(kept: object, now: object) -> bool:
    return kept is now or (type(kept) is type(now) and bool(kept == now))


def _same_list(kept: list[object], now: object) -> bool:
    return type(now) is list and _native.same_items(kept, now)


def _same_rows(kept: list[tuple[object, ...]], now: object) -> bool:
    return type(now) is list and _native.same_rows(kept, now)


def _equal(kept: object, now: object) -> bool:
    try:
        return type(now) is Equal and bool(kept == now.value)
    except (TypeError, ValueError, RuntimeError):
        # Arrays inside it: the data set is read again, which is right and slower.
        return False


def _same_address(kept: object, address: object, now: object) -> bool:
    return type(now) is Live and now.value is kept and _address(kept) == address


def _address(value: object) -> object:
    """Type, shape and address of an array."""
    if isinstance(value, torch.Tensor):
        return value.dtype, tuple(value.shape), value.stride(), value.data_ptr()
    return value.__array_interface__ if isinstance(value, np.ndarray) else None


def _same_array(kept: object, now: object) -> bool:
    return (
        kept is not None
        and issubclass(type(now), (np.ndarray, torch.Tensor))
        and _content(now) == kept
    )


def _content(value: object) -> object:
    """Class, type, shape and a 64-bit hash of an array's numbers; None for those that are not on
    the host, or no numbers.
    """
    try:
        numbers = value.detach().numpy() if isinstance(value, torch.Tensor) else value
        flat = np.ascontiguousarray(numbers)
        if flat.dtype.kind not in "biufc":
            return None
        return type(value), str(flat.dtype), flat.shape, _native.xxh3(flat)
    except (TypeError, ValueError, RuntimeError):
        return None
