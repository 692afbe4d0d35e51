"""What `joint_steps.of` reads of transforms, in values that compare."""

from collections.abc import Iterable

from torch.nn import Module

from fastload.lowering.joint_steps import parts_of
from fastload.lowering.names import Reasons, altered


def reads(transforms: object) -> list[object]:
    unknown: Reasons = []
    return [*map(_read, parts_of(transforms, unknown)), unknown]


def _read(part: object) -> tuple[object, ...]:
    """One transform, and those that it holds: the text of a group does not say all of these."""
    held: dict[str, object] = getattr(part, "__dict__", {})
    modules = held.get("_modules")
    several: list[Iterable[object]] = [modules.values() if isinstance(modules, dict) else ()]
    several += [value for value in held.values() if isinstance(value, (list, tuple))]
    whole = [_read(one) for some in several for one in some if isinstance(one, Module)]
    return type(part), altered(part), repr(held), whole
