"""From what people give as `transform` to ops; or the reasons why not."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from torch.nn import Identity, ModuleList, Sequential

from fastload.errors import PipelineError
from fastload.lowering import forwarding, reach, timm_ops, torchvision_ops
from fastload.lowering.names import LIBRARIES, Reasons, altered, attribute, classes, is_a, type_name
from fastload.transforms import Compose, Grayscale, Mix, Op, Views

Ops = tuple[Op, ...]

VIEWS = "if it makes several views of an image, fastload.transforms.Views does so natively"


def lower_transform(transform: object) -> tuple[tuple[Op, ...], Reasons]:
    """Ops of an op, of a transform of torchvision or timm, or of a list, Compose or Sequential of
    them; and what has none.
    """
    reach.refresh()
    return lower_parts(transform)


def lower_parts(transform: object) -> tuple[tuple[Op, ...], Reasons]:
    """The same, after `reach.refresh`."""
    ops, reasons = list[Op](), Reasons()
    try:
        leaves = list(_leaves(transform))
    except RecursionError:
        return (), [f"{type_name(transform)} holds itself"]
    for leaf in leaves:
        parts, why = _leaf(leaf)
        if not why and type(leaf) in classes("RGB"):
            why = _to_rgb(ops)
        ops += parts
        reasons += why
    return tuple(ops), reasons


def lower_pictures(transform: object) -> tuple[Ops, tuple[Ops, ...], Reasons]:
    """The ops of the one picture that a transform makes, those of each of its views, and what has
    none.
    """
    holds = isinstance(transform, (list, tuple)) or (
        type(transform) in (Compose, *classes("Compose")) and not altered(transform)
    )
    inner = _members(transform) if holds else ()
    if len(inner) == 1:
        return lower_pictures(inner[0])
    if type(transform) is not Views:
        ops, reasons = lower_parts(transform)
        return ops, (), reasons
    views, unknown = list[Ops](), Reasons()
    for pipeline, count in transform.pipelines:
        ops, reasons = lower_parts(pipeline)
        unknown += [f"view {len(views) + 1}: {reason}" for reason in reasons]
        views += [ops] * count
    return (), tuple(views), unknown


def known_pictures(transform: object) -> tuple[Ops, tuple[Ops, ...]]:
    """The ops of the one picture, and those of each view.

    Raises PipelineError for what has no op.
    """
    reach.refresh()
    ops, views, reasons = lower_pictures(transform)
    if reasons:
        raise PipelineError(f"transform: {reason}" for reason in reasons)
    return ops, views


def _leaves(transform: object) -> Iterator[object]:
    """What a transform runs, one after the other."""
    if transform is None:
        return
    if isinstance(transform, (list, tuple)) or (_is_chain(transform) and not altered(transform)):
        for part in _members(transform):
            yield from _leaves(part)
    elif (held := forwarding.inner(transform)) is not None:
        yield from _leaves(held)
    else:
        yield transform


def _members(transform: object) -> Sequence[object]:
    """Of a list or a chain."""
    if isinstance(transform, (list, tuple, Sequential, ModuleList)):
        return list(transform)
    members: Sequence[object] = attribute(transform, "transforms")
    return members


def _is_chain(transform: object) -> bool:
    return type(transform) in (Sequential, ModuleList, Compose, *classes("Compose"))


def _leaf(transform: object) -> tuple[tuple[Op, ...], Reasons]:
    if isinstance(transform, Op):
        return (transform,), []
    if isinstance(transform, Mix):
        return (), [f"{transform.name} mixes batches, not images; give it to DataLoader(mix=...)"]
    if type(transform) is Views:
        return (), [
            "Views stands beside other ops, want it alone; put them into each of its pipelines"
        ]
    try:
        lowered = _known(transform)
    except (TypeError, ValueError, AttributeError, LookupError) as error:
        return (), [f"{type_name(transform)} has an argument that fastload does not take ({error})"]
    if lowered is None:
        return (), (altered(transform) if _is_chain(transform) else [_unknown(transform)])
    return ((), changed) if (changed := altered(transform)) else lowered


def _known(transform: object) -> tuple[tuple[Op, ...], Reasons] | None:
    """None for a class that is neither torchvision's nor timm's, or that has no op."""
    if type(transform) is Identity or type(transform) in [
        *classes("Identity"),
        *classes("ToPureTensor"),
        *classes("RGB"),
    ]:
        return (), []
    if is_a(transform, "timm.data.transforms", "MaybeToTensor") and (
        why := torchvision_ops.default_dtype(transform)
    ):
        return (), why
    ops = timm_ops.ops(transform)
    return torchvision_ops.ops(transform, lower_parts) if ops is None else (ops, [])


def _to_rgb(ops: list[Op]) -> Reasons:
    """torchvision's RGB: images have three channels anyway, unless Grayscale has left one."""
    grey = [
        index
        for index, op in enumerate(ops)
        if isinstance(op, Grayscale) and op.num_output_channels == 1
    ]
    if grey and grey[-1] != len(ops) - 1:
        return ["RGB comes after ops on an image of one channel"]
    if grey:
        ops[-1] = replace(ops[-1], num_output_channels=3)  # type: ignore[call-arg]  # Grayscale's
    return []


def _unknown(transform: object) -> str:
    name = type_name(transform)
    if type(transform) in classes("Lambda"):
        function = type_name(attribute(transform, "lambd"))
        return f"{name} calls {function}, which fastload cannot see into"
    theirs = name.split(".")[0] in LIBRARIES
    return f"{name} is not one that fastload knows" + (
        f"; {VIEWS}" if not theirs and _holds_transforms(transform) else ""
    )


def _holds_transforms(value: object) -> bool:
    """Whether a user's own class has transforms of torchvision or timm inside, as those for
    SimCLR's and DINO's views do.
    """
    held = list(getattr(value, "__dict__", {}).values())
    held += [inner for item in held if isinstance(item, (list, tuple)) for inner in item]
    return any(
        type(item) is Sequential or type(item).__module__.split(".")[0] in ("torchvision", "timm")
        for item in held
    )
