"""How the pictures and the label of each sample stand in a batch, where that is not [images,
labels]: what PyTorch's default_collate makes of the samples.

A form is the number of a picture, LABEL, or a Stacked, a Keyed or a tuple of forms.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, Union

import torch

LABEL = -1


@dataclass(frozen=True)
class Stacked:
    """Pictures of one size as one tensor [N, pictures, C, H, W], as torch.stack makes them."""

    parts: tuple[int, ...]


@dataclass(frozen=True)
class Keyed:
    """A dictionary."""

    parts: tuple[tuple[str, "Form"], ...]


Stack: TypeAlias = Callable[[Sequence[torch.Tensor]], torch.Tensor]
Form: TypeAlias = Union[int, Stacked, Keyed, tuple["Form", ...]]  # noqa: UP007  it names itself


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
) -> object:
    if isinstance(form, int):
        part = labels if form == LABEL else images[form]
        again = form in given
        given.add(form)
        return part.clone() if again else part
    if isinstance(form, Stacked):
        return stack([images[part] for part in form.parts])
    if isinstance(form, Keyed):
        return {key: _formed(part, images, labels, stack, given) for key, part in form.parts}
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


def of_pair(form: Form | None) -> Form | None:
    """The form of samples (image, label) whose images have this form."""
    return None if form is None else (form, LABEL)


def plain(views: int) -> Form:
    """The form of several views without a name: a list of them."""
    return tuple(range(views))
