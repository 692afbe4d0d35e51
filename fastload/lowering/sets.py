"""Several pictures of one image, as users' transforms return them: lists, dictionaries and stacks,
and the form that they have in a batch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fastload.lowering.pictures import Picture, UnclearError
from fastload.plan import forms
from fastload.plan.forms import Form
from fastload.spec import Spec


class Own(list[object]):
    """A list that the followed function has made, and may change until it is put into another
    value.
    """

    is_kept = False


class OwnDict(dict[str, object]):
    """The same of a dictionary."""

    is_kept = False


@dataclass(frozen=True, eq=False)
class Stack:
    """What torch.stack makes of tensors."""

    pictures: tuple[Picture, ...]


def kept(value: object) -> object:
    """A value that another one holds from now on: two names for one list are not followed."""
    if isinstance(value, (Own, OwnDict)):
        value.is_kept = True
    return value


def put(into: object, key: object, value: object) -> None:
    """`into[key] = value`, or an append where key is None. Raises UnclearError."""
    if not isinstance(into, (Own, OwnDict)) or into.is_kept:
        raise UnclearError("it changes a list or dictionary that something else holds")
    if isinstance(into, Own) and key is None:
        into.append(kept(value))
    elif isinstance(into, OwnDict) and type(key) is str:
        into[key] = kept(value)
    else:
        raise UnclearError("it sets an item")


def pictures(value: object) -> Iterator[Picture]:
    """Those in a value, each as often as it is there."""
    if isinstance(value, Picture):
        yield value
    elif isinstance(value, Stack):
        yield from value.pictures
    elif isinstance(value, (list, tuple, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from pictures(part)


def form_of(value: object, found: list[Picture]) -> Form:
    """The form of a value, and into `found` its pictures, each once.

    Raises UnclearError where PyTorch's default_collate makes no batch of it.
    """
    if isinstance(value, Picture):
        if not any(value is one for one in found):
            found.append(value)
        return next(number for number, one in enumerate(found) if value is one)
    if isinstance(value, Stack):
        parts = [form_of(one, found) for one in value.pictures]
        return forms.Stacked(tuple(part for part in parts if isinstance(part, int)))
    if type(value) in (dict, OwnDict) and isinstance(value, dict):
        return forms.Keyed(tuple((key, form_of(part, found)) for key, part in value.items()))
    if type(value) in (list, tuple, Own) and isinstance(value, (list, tuple)):
        return tuple(form_of(part, found) for part in value)
    raise UnclearError("it makes no image, and no list of images")


def check_apart(value: object) -> None:
    """Raise UnclearError for pictures that share a draw: natively each view draws its own."""
    seen, known = set[object](), list[Picture]()
    for picture in pictures(value):
        if any(picture is one for one in known):
            continue
        known.append(picture)
        every = [one for step in picture.steps for one in step.every()]
        if any(one in seen and one.op.draws(Spec()) for one in every):
            raise UnclearError("its views share a draw; give each its own")
        seen.update(every)


def stacked(values: Sequence[object]) -> Stack:
    """Raises UnclearError for what are no tensors."""
    parts = tuple(value for value in values if isinstance(value, Picture) and value.is_tensor)
    if not parts or len(parts) != len(values):
        raise UnclearError("it stacks what are no tensors")
    return Stack(parts)
