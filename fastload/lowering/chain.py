"""From what people give as `transform` to ops; or the reasons why not."""

from collections.abc import Iterator, Sequence
from types import FunctionType
from typing import NamedTuple, cast

from torch.nn import Identity, ModuleList, Sequential

from fastload.errors import PipelineError
from fastload.lowering import forwarding, reach, sets, timm_ops, torchvision_ops
from fastload.lowering.following import Follower
from fastload.lowering.names import LIBRARIES, Reasons, altered, attribute, classes, is_a, type_name
from fastload.lowering.pictures import Picture, UnclearError
from fastload.plan import forms
from fastload.plan.forms import Form
from fastload.transforms import Compose, Mix, Op, Views
from fastload.transforms.kinds import Values
from fastload.transforms.views import MOST as MOST_VIEWS

Ops = tuple[Op, ...]

VIEWS = "fastload.transforms.Views makes several views natively"


def lower_transform(transform: object) -> tuple[tuple[Op, ...], Reasons]:
    """Ops of an op, of a transform of torchvision or timm, or of a list, Compose or Sequential of
    them; and what has none.
    """
    reach.refresh()
    return lower_parts(transform)


def lower_parts(transform: object, *, own: bool = True) -> tuple[tuple[Op, ...], Reasons]:
    """The same, after `reach.refresh`. own: whether classes and functions of the user's are
    followed, too.
    """
    run = _Lowering(own=own)
    value = run.whole(transform)
    if isinstance(value, Picture):
        return value.ops, run.reasons
    return (), run.reasons or [f"{run.last} makes several views of an image, want one; {VIEWS}"]


class Pictures(NamedTuple):
    """What a transform makes of an image."""

    ops: Ops  # of the one picture
    views: tuple[Ops, ...]  # in place of it: of each of several
    form: Form | None  # of these in a batch; None: a picture, or a list of all views
    unknown: Reasons  # what has no op


def lower_pictures(transform: object) -> Pictures:
    holds = type(transform) in (list, tuple) or (
        type(transform) in (Compose, *classes("Compose")) and not altered(transform)
    )
    inner = _members(transform) if holds else ()
    if len(inner) == 1:
        return lower_pictures(inner[0])
    if type(transform) is not Views:
        return _Lowering(own=True).pictures(transform)
    views, unknown = list[Ops](), Reasons()
    for pipeline, count in transform.pipelines:
        ops, reasons = lower_parts(pipeline)
        unknown += [f"view {len(views) + 1}: {reason}" for reason in reasons]
        views += [ops] * count
    return Pictures((), tuple(views), None, unknown)


def follower() -> Follower:
    """For functions that are no transforms, and call some."""
    return _Lowering(own=True).follower


def known_pictures(transform: object) -> Pictures:
    """Raises PipelineError for what has no op."""
    reach.refresh()
    found = lower_pictures(transform)
    if found.unknown:
        raise PipelineError(f"transform: {reason}" for reason in found.unknown)
    return found


def _leaves(transform: object) -> Iterator[object]:
    """What a transform runs, one after the other."""
    if transform is None:
        return
    if type(transform) in (list, tuple) or (_is_chain(transform) and not altered(transform)):
        for part in _members(transform):
            yield from _leaves(part)
    elif (held := forwarding.inner(transform)) is not None:
        yield from _leaves(held)
    else:
        yield transform


def _members(transform: object) -> Sequence[object]:
    """Of a list or a chain."""
    if type(transform) in (list, tuple, Sequential, ModuleList):
        return list(cast("Sequence[object]", transform))
    members: Sequence[object] = attribute(transform, "transforms")
    return members


def _is_chain(transform: object) -> bool:
    return type(transform) in (Sequential, ModuleList, Compose, *classes("Compose"))


class _Lowering:
    """One look at a transform: what it makes of an image, and what has no op."""

    def __init__(self, *, own: bool) -> None:
        self.own, self.reasons = own, Reasons()
        self.last = ""  # name of the user's class or function that was followed last
        self.follower = Follower(self._called)

    def pictures(self, transform: object) -> Pictures:
        value, views = self.whole(transform), list[Picture]()
        if isinstance(value, Picture) or self.reasons:
            ops = value.ops if isinstance(value, Picture) else ()
            return Pictures(ops, (), None, self.reasons)
        try:
            form = sets.form_of(value, views)
        except UnclearError:
            views = []
        why = [f"{type_name(transform)} makes no image, and no list of images"] * (not views)
        if len(views) > MOST_VIEWS:
            why = [f"{type_name(transform)} makes {len(views)} views"]
        if why:
            return Pictures((), (), None, why)
        if len(views) == 1:
            return Pictures(views[0].ops, (), form, [])
        named = None if form == forms.plain(len(views)) else form
        return Pictures((), tuple(view.ops for view in views), named, [])

    def whole(self, transform: object) -> object:
        """What it makes of an image: a Picture, or a list of them."""
        try:
            value = self._after(transform, Picture())
            sets.check_apart(value)
        except RecursionError:
            self.reasons = [f"{type_name(transform)} holds itself"]
            return Picture()
        except UnclearError as error:
            self.reasons.append(f"{type_name(transform)}: {error}")
            return Picture()
        return value

    def _after(self, transform: object, value: object) -> object:
        for leaf in list(_leaves(transform)):
            if isinstance(value, Picture) and type(leaf) in classes("RGB") and not altered(leaf):
                try:
                    value = value.rgb()
                except UnclearError as error:
                    self.reasons.append(str(error))
                continue
            function = _function(leaf, value)
            if self.own and (function is not None or _is_own(leaf)):
                value = self._followed(leaf, value, function)
                continue
            if (crops := torchvision_ops.crops(leaf)) and isinstance(value, Picture):
                value = tuple(value.then(ops) for ops in crops)
                continue
            ops, why = _leaf(leaf)
            self.reasons += why
            if isinstance(value, Picture):
                value = value.then(ops)
            elif isinstance(value, sets.Stack) and all(isinstance(op, Values) for op in ops):
                value = sets.Stack(tuple(one.then(ops) for one in value.pictures))
            elif not why:
                self.reasons.append(f"{type_name(leaf)} gets several views of an image")
        return value

    def _followed(self, leaf: object, value: object, function: object) -> object:
        self.last = type_name(leaf)
        try:
            return self.follower.follow(leaf if function is None else function, value)
        except UnclearError as error:
            if error.reasons:
                self.reasons += [f"{type_name(leaf)}: {reason}" for reason in error.reasons]
            else:
                self.reasons.append(_unknown(leaf, str(error)))
        return value

    def _called(self, transform: object, value: object) -> object:
        """For the user's code: as `_after`, but with an error in place of reasons."""
        if type(value) not in (Picture, sets.Stack, sets.Own, list, tuple):
            raise UnclearError("")
        outside, self.reasons = self.reasons, Reasons()
        tensor = isinstance(value, Picture) and value.is_tensor
        out = self._after(transform, value)
        inner, self.reasons = self.reasons, outside
        if not inner and tensor and isinstance(out, Picture) and isinstance(value, Picture):
            new = out.ops[len(value.ops) :]
            if any(getattr(op, "inplace", False) for op in new):
                inner = [f"{type_name(transform)} has inplace=True, and changes another image"]
        if inner:
            raise UnclearError("", inner)
        return out


def _is_own(transform: object) -> bool:
    """Whether it is a function of the user's, or an object of a class of theirs."""
    if isinstance(transform, (Op, Mix, Views)):
        return False
    kind = transform if isinstance(transform, FunctionType) else type(transform)
    return str(kind.__module__).partition(".")[0] not in (*LIBRARIES, "PIL", "builtins")


def _function(transform: object, value: object) -> object:
    """What a Lambda of torchvision's calls with such a value; None for anything else."""
    if type(transform) not in classes("Lambda") or altered(transform):
        return None
    # The second API's takes only some types, and of a list each item.
    if getattr(transform, "types", (object,)) != (object,) or (
        hasattr(transform, "types") and not isinstance(value, Picture)
    ):
        return None
    function = attribute(transform, "lambd")
    return function if type(function) is FunctionType and _is_own(function) else None


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


def _unknown(transform: object, detail: str = "") -> str:
    name = type_name(transform)
    said = f": {detail}" if detail else ""
    if type(transform) in classes("Lambda"):
        function = type_name(attribute(transform, "lambd"))
        return f"{name} calls {function}, which fastload cannot see into{said}"
    theirs = name.split(".")[0] in LIBRARIES
    hint = f"; {VIEWS}" if not theirs and _holds_transforms(transform) else ""
    return f"{name} is not one that fastload knows{said}{hint}"


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
