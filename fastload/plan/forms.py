"""How the pictures, the label and other values of each sample stand in a batch, where that is not
[images, labels]: what PyTorch's default_collate makes of the samples.

A form is the number of a picture, LABEL, or a Values, a Stacked, a Keyed or a tuple of forms.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, Union, cast

import torch
from torch.utils.data import default_collate

LABEL = -1


@dataclass(frozen=True)
class Values:
    """A value of each sample, in place of labels: these say which.

    Args:
        rows: [N], of each sample: numbers and texts.
        in_tensors: Whether the data set gives each as a tensor of its own.
        dtype: Of these tensors; None: what torch.tensor makes of each.
    """

    rows: tuple[object, ...]
    in_tensors: bool = False
    dtype: torch.dtype | None = None

    def __hash__(self) -> int:  # of a million rows it would take long
        return hash((len(self.rows), self.in_tensors, self.dtype))

    def of(self, labels: torch.Tensor, *, as_list: bool) -> object:
        """A tensor, or a list or a tuple of texts."""
        picked = [self.rows[place] for place in labels.tolist()]
        if self.in_tensors and set(map(type, picked)) in ({int}, {float}):  # at once: the same
            made: object = torch.tensor(picked, dtype=self.dtype)
        elif self.in_tensors:
            made = torch.stack([torch.tensor(one, dtype=self.dtype) for one in picked])
        else:
            made = default_collate(picked)
        if not isinstance(made, torch.Tensor):
            return made if as_list else tuple(cast("list[object]", made))
        return made.pin_memory() if labels.is_pinned() else made.to(labels.device)


@dataclass(frozen=True)
class Stacked:
    """Pictures of one size as one tensor [N, pictures, C, H, W], as torch.stack makes them."""

    parts: tuple[int, ...]


@dataclass(frozen=True)
class Keyed:
    """A dictionary."""

    parts: tuple[tuple[str, "Form"], ...]


Stack: TypeAlias = Callable[[Sequence[torch.Tensor]], torch.Tensor]
Form: TypeAlias = Union[int, Values, Stacked, Keyed, tuple["Form", ...]]  # noqa: UP007


def formed(
    form: Form, images: Sequence[torch.Tensor], labels: torch.Tensor, stack: Stack
) -> object:
    """A batch of this form. images: of each picture; what is there twice is copied, as PyTorch's
    batches share no memory. stack: makes one tensor of some of them, as torch.stack(…, dim=1).
    """
    return _formed(form, images, labels, stack, set())


def _formed(
    form: Form,
    images: Sequence[torch.Tensor],
    labels: torch.Tensor,
    stack: Stack,
    given: set[int],
    *,
    keyed: bool = False,
) -> object:
    """keyed: it is a value of a dictionary."""
    if isinstance(form, Values):
        return form.of(labels, as_list=keyed)
    if isinstance(form, int):
        part = labels if form == LABEL else images[form]
        again = form in given
        given.add(form)
        return part.clone() if again else part
    if isinstance(form, Stacked):
        return stack([images[part] for part in form.parts])
    if isinstance(form, Keyed):
        return {
            key: _formed(part, images, labels, stack, given, keyed=True) for key, part in form.parts
        }
    return [_formed(part, images, labels, stack, given) for part in form]


def stacks(form: Form) -> Iterator[tuple[int, ...]]:
    """The pictures of each Stacked in it."""
    if isinstance(form, Stacked):
        yield form.parts
    elif isinstance(form, Keyed):
        for _, part in form.parts:
            yield from stacks(part)
    elif isinstance(form, tuple):
        for part in form:
            yield from stacks(part)


def beside(form: Form | None, label: int) -> Iterator[object]:
    """The values of a sample with this label, in place of it."""
    if isinstance(form, Values):
        yield form.rows[label]
    elif isinstance(form, Keyed):
        for _, part in form.parts:
            yield from beside(part, label)
    elif isinstance(form, tuple):
        for part in form:
            yield from beside(part, label)


def of_pair(form: Form | None) -> Form | None:
    """The form of samples (image, label) whose images have this form."""
    return None if form is None else (form, LABEL)


def plain(views: int) -> Form:
    """The form of several views without a name: a list of them."""
    return tuple(range(views))
