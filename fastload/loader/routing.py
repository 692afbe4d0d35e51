"""Who runs a loader's data set, and why: the route."""

import warnings

from fastload import _native, lowering
from fastload.backends import choosing
from fastload.dataset import Dataset
from fastload.errors import BackendError, FallbackWarning, PipelineError
from fastload.loader import arguments, sizes
from fastload.loader.base import BaseLoader, Route
from fastload.loader.options import LoaderOptions
from fastload.order import epochs
from fastload.order.buckets import BucketSampler
from fastload.order.tokens import TokenSampler
from fastload.plan import jointly
from fastload.plan.pipeline import Pipeline
from fastload.plan.plan import Plan, plan
from fastload.system import devices

SIZED = (BucketSampler, TokenSampler)  # which say the sizes of images


def find(loader: BaseLoader[object]) -> Route:
    """Raises PipelineError and BackendError where nobody can run the data set as wanted."""
    arguments.check_exact(loader)
    arguments.check_mix(loader)
    marks = lowering.Marks(loader._watched())
    pipeline, reasons = lowering.lower(loader.dataset)
    ours = type(loader.dataset) is Dataset
    reasons = [*reasons, *arguments.unlike(loader, pipeline, ours=ours)]
    if pipeline is None or reasons:
        return _torchs_engine(loader, reasons, marks)
    options = loader._own
    if pipeline.joint is not None:
        return _joint(loader, pipeline, marks)
    # A foreign data set that is not native is best left to the engine that its author knows, which
    # mixes nothing.
    among = choosing.AUTO if ours or options.mix else ("native",)
    try:
        planned = sizes.by_sampler(loader, _planned(pipeline, options))
        if planned.patch:
            among = ("native",)
            if options.backend not in ("auto", "native"):
                raise BackendError(
                    f"loader: backend {options.backend!r} makes no patches; use backend='native'"
                )
        kind = devices.kind(options.device)
        backend, why_not, why = choosing.choose(options.backend, planned, kind, among)
    except (PipelineError, BackendError) as error:
        if ours or _insists(loader) or type(loader.batch_sampler) in SIZED:
            raise
        return _torchs_engine(loader, str(error).splitlines(), marks)
    if why_not and arguments.strict():
        raise BackendError(_forbidden(f"the {backend} backend", why_not))
    return Route(backend, planned, tuple(why_not), marks, why)


def _joint(loader: BaseLoader[object], pipeline: Pipeline, marks: lowering.Marks) -> Route:
    """Of images and targets that are transformed together: the native engine, or PyTorch's own."""
    options, reasons = loader._own, list[str]()
    if options.backend not in ("auto", "native"):
        reasons.append(f"backend {options.backend} moves no boxes")
    if type(loader.batch_sampler) in SIZED:
        name = type(loader.batch_sampler).__name__
        reasons.append(f"{name} makes images of other sizes, and the transforms say theirs")
    reasons += [_native.MISSING] * bool(_native.MISSING)
    try:
        planned = jointly.plan(
            pipeline,
            options.decode_scale,
            options.size_schedule,
            mix=options.mix,
            device=options.device,
            on_error=options.on_error,
        )
    except PipelineError as error:
        reasons += str(error).splitlines()
    if reasons:
        return _torchs_engine(loader, reasons, marks)
    return Route("native", planned, (), marks)


def warn(route: Route, *, lazily: bool) -> None:
    """Say that the loader does not run natively; called by `__iter__`, whose caller is blamed.

    lazily: JPEGs are decoded natively all the same.
    """
    if not route.reasons:
        return
    engine = f"the {route.backend} backend" if route.backend else "PyTorch's own engine"
    count = len(route.reasons) - 1
    more = f" (and {count} more)" if count else ""
    gain = "only JPEG decoding is faster" if lazily else "no faster than before"
    warnings.warn(
        f"loader: {engine} runs this data set, {gain}: {route.reasons[0]}{more}; "
        "loader.explain() tells all, docs/pipelines.md what runs natively",
        FallbackWarning,
        stacklevel=3,
    )


def _planned(pipeline: Pipeline, options: LoaderOptions) -> Plan:
    return plan(
        pipeline,
        options.decode_scale,
        options.size_schedule,
        mix=options.mix,
        decode=options.decode,
        augment=options.augment,
        device=options.device,
        on_error=options.on_error,
    )


def _torchs_engine(loader: BaseLoader[object], reasons: list[str], marks: lowering.Marks) -> Route:
    """PyTorch's own engine, unless it is no way out. Raises BackendError."""
    if option := _insists(loader):
        lines = [f"loader: {option} cannot run this data set: {reason}" for reason in reasons]
        if option == "mix":
            lines.append(
                "loader: leave mix out, and call it on the batches: images, labels = mix(images, "
                "labels)"
            )
        raise BackendError("\n".join(lines))
    if arguments.strict():
        raise BackendError(_forbidden("PyTorch's own engine", reasons))
    return Route(None, None, tuple(reasons), marks)


def _forbidden(what: str, reasons: list[str]) -> str:
    return "\n".join(f"loader: FASTLOAD_STRICT forbids {what}: {reason}" for reason in reasons)


def _insists(loader: BaseLoader[object]) -> str:
    """The option that PyTorch's own engine cannot honour, so that it is no way out; "" if there is
    none.
    """
    options = loader._own
    cases = (
        (options.backend != "auto", f"backend={options.backend!r}"),
        (options.decode == "gpu", "decode='gpu'"),
        (options.augment == "gpu", "augment='gpu'"),
        (devices.kind(options.device) == "cuda", f"device={options.device!r}"),
        (options.on_error != "raise", f"on_error={options.on_error!r}"),
        (epochs.is_exact(loader), "eval_exact"),
        (bool(options.size_schedule), "size_schedule"),
        (bool(options.mix), "mix"),
        (type(loader.batch_sampler) is TokenSampler, "TokenSampler"),
    )
    return next((text for insists, text in cases if insists), "")
