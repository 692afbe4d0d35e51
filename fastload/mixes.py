"""`fastload.mix`: several data sets as one, drawn by weights."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TypeAlias, cast

from fastload.dataset import Dataset
from fastload.errors import PipelineError, SourceError, UsageError
from fastload.lowering import open
from fastload.lowering.chain import known_pictures
from fastload.order.mix_arguments import Weights, each_problems, in_order, problems_of
from fastload.order.mixture import MOST, MOST_DRAWS
from fastload.plan import checks, forms
from fastload.plan.pipeline import Pipeline
from fastload.sources.base import remote
from fastload.sources.field_types import is_type
from fastload.sources.fields import LABEL, Wanted
from fastload.sources.mixed import (
    Mixed,
    Phase,
    Recipe,
    Relabelled,
    with_one_list_of_classes,
)

Part: TypeAlias = str | os.PathLike[str] | Dataset
Target: TypeAlias = Wanted | None


def mix(
    parts: Mapping[str, float] | Sequence[tuple[Part, float]],
    transform: object = None,
    *,
    by: str = "weights",
    until: str = "first",
    length: int | None = None,
    schedule: Mapping[int, Weights] | None = None,
    target: Target | Mapping[str, Wanted] = None,
) -> Dataset:
    """Several data sets as one, whose samples are drawn in given shares.

    Each epoch has exactly the shares that the weights say, spread evenly over it. A part goes
    through all its samples before one comes again, over epochs too. Which sample comes at which
    place follows from the seed, the epoch and the place alone: `DataLoader.state_dict` holds a few
    numbers, and another number of ranks or another batch size reads the same order.

    Args:
        parts: What `fastload.open` takes, with the weight of each; or pairs of a data set
            that it gave, or a path, and a weight. Weights are 0 or more, in any unit.
        transform: As `fastload.open`'s, for all parts; or that of each: {"laion": …, "own":
            …}. Of data sets that are open, None keeps theirs. Parts may differ in all but the
            size, the type and the ops of STORE that they end with.
        by: "weights": shares of the draws. "epochs": how often each part is seen in an
            epoch, 0.5 for half of it.
        until: When an epoch by weights ends. "first": when the first part was seen once.
            "all": when all were; the others begin again meanwhile.
        length: Draws in an epoch, in place of `until`.
        schedule: Other weights from a draw on, counted over all ranks and epochs: {0:
            {"a": 1, "b": 0}, 3_000_000: {"a": 1, "b": 2}}; then `length` is wanted, and
            the weights of `parts` hold until the first of these draws.
        target: As `fastload.open`'s, of the parts that are paths. Where they call the same
            things by other names, that of each: {"laion": "txt", "own": "caption"}. Batches
            have the names of the first part. {"txt": "text"} declares types for all parts. A
            data set that is open has its own; where all are,
            {} gives them one list of names.

    Returns:
        A data set for `fastload.DataLoader(..., shuffle=True)`, or with
        `sampler=fastload.DistributedSampler(dataset)` for several ranks. Its length is that of
        all parts together; an epoch has as many samples as the sampler says. Classes of one
        name are one class.

    Raises:
        SourceError: A part cannot be opened.
        PipelineError: The ops cannot run, or parts end with different ones.
        UsageError: Weights or other arguments make no sense; each problem has a line.

    Example:
        >>> import fastload
        >>> from fastload import transforms as T
        >>> ops = [T.CenterCrop((48, 64)), T.ToImage()]
        >>> cats_and_dogs = fastload.open("train", ops)
        >>> data = fastload.mix([(cats_and_dogs, 0.75), ("train", 0.25)], ops, length=100)
        >>> len(fastload.DistributedSampler(data, num_replicas=4, rank=0))
        25
    """
    pairs = _pairs(parts)
    names = tuple(_name(part, number) for number, (part, _) in enumerate(pairs))
    weights = [weight for _, weight in pairs]
    problems = problems_of(names, weights, by, until, length, schedule)
    paths = [name for name, (part, _) in zip(names, pairs, strict=True) if _is_path(part)]
    if isinstance(transform, Mapping):
        problems += each_problems("transform", names, paths, transform)
    of_each = target if isinstance(target, Mapping) and not _of_all(target, paths) else None
    problems += [] if of_each is None else each_problems("target", paths, paths, of_each)
    if target is not None and of_each is None and not paths:
        problems.append(
            "target is given, and all parts are open data sets, which have theirs; leave it out"
        )
    if problems:
        raise UsageError("\n".join(f"mix: {problem}" for problem in problems))
    pipelines = _pipelines(names, [part for part, _ in pairs], transform, target, of_each)
    _check_alike(names, pipelines)
    sizes = [len(pipeline.source) for pipeline in pipelines]
    exact = [Fraction(float(weight)) for weight in weights]
    counts = _counts(sizes, exact, by, until, length)
    changes = {0: tuple(Fraction(count) for count in counts)}
    for draw, given in sorted((schedule or {}).items()):
        changes[draw] = tuple(Fraction(float(each)) for each in in_order(names, given))
    recipe = Recipe(names, sum(counts), tuple(Phase(*each) for each in sorted(changes.items())))
    _check_shares(recipe, changes[0] if schedule and 0 in schedule else exact)
    source = Mixed(with_one_list_of_classes([each.source for each in pipelines]), recipe)
    alike = all(each.ops == pipelines[0].ops for each in pipelines)
    own = () if alike else tuple(zip(names, (each.ops for each in pipelines), strict=True))
    checks.check_parts(own)
    return Dataset(replace(pipelines[0], source=source, by_part=own))


def _pairs(parts: object) -> list[tuple[Part, float]]:
    """Raises UsageError for what is neither a mapping nor pairs."""
    pairs = list(parts.items()) if isinstance(parts, Mapping) else parts
    if not isinstance(pairs, (list, tuple)) or not all(
        isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], (str, os.PathLike, Dataset))
        for one in pairs
    ):
        raise UsageError(
            "mix: parts are neither {path: weight, …} nor pairs of a data set, or a path, and a "
            "weight; give one of these"
        )
    return list(pairs)


def _is_path(part: Part) -> bool:
    return not isinstance(part, Dataset)


def _name(part: Part, number: int) -> str:
    return f"part {number}" if isinstance(part, Dataset) else os.fspath(part)


def _of_all(target: Mapping[str, object], paths: Sequence[str]) -> bool:
    """Whether it has names and types, for all parts alike, not what each part has."""
    types = all(map(is_type, target.values()))
    return bool(target) and types and not any(name in paths for name in target)


def _pipelines(
    names: Sequence[str],
    parts: Sequence[Part],
    transform: object,
    target: Target | Mapping[str, Wanted],
    of_each: Mapping[str, Wanted] | None,
) -> list[Pipeline]:
    opened = [
        _opened(
            part,
            transform.get(name) if isinstance(transform, Mapping) else transform,
            cast("Target", target) if of_each is None else of_each.get(name),
        )
        for name, part in zip(names, parts, strict=True)
    ]
    opened = [_local(one) for one in opened]
    return opened if of_each is None else [_called_as(opened[0], one) for one in opened]


def _local(one: Pipeline) -> Pipeline:
    """The same; shards in a store are brought whole, since a batch reads from several parts.

    Raises SourceError.
    """
    if remote(one.source) is None:
        return one
    # Local data sets need none of it
    from fastload.sources import staging
    from fastload.sources.remote import RemoteShards

    if not isinstance(one.source, RemoteShards):
        raise SourceError(
            f"{one.source.where}: is larger than the cache, and the parts of a mix are brought "
            "whole, since a batch reads from several; give a larger cache_bytes"
        )
    return replace(one, source=staging.brought(one.source))


def _called_as(first: Pipeline, one: Pipeline) -> Pipeline:
    """The same with the first part's names of what lies beside the images, if there are as many."""
    if first.target is None or one.target is None or first.target == one.target:
        return one
    pairs = list(zip(one.target.names, first.target.names, strict=False))
    as_many = (len(one.target.names), one.target.alone) == (len(pairs), first.target.alone)
    alike = len(first.target.names) == len(pairs) and as_many
    alike &= first.target.types == one.target.types
    if not alike or any((LABEL in pair) and len(set(pair)) > 1 for pair in pairs):
        return one  # which is refused
    source = Relabelled(one.source, None, tuple(one.source.classes), tuple(pairs))
    return replace(one, source=source, target=first.target)


def _opened(part: Part, transform: object, target: Target) -> Pipeline:
    if not isinstance(part, Dataset):
        return open(part, transform, target=target).pipeline
    if transform is None:
        return part.pipeline
    ops, views, form, _ = known_pictures(transform)
    return replace(part.pipeline, ops=ops, views=views, form=forms.of_pair(form))


def _counts(
    sizes: Sequence[int], weights: Sequence[Fraction], by: str, until: str, length: int | None
) -> list[int]:
    """How often each part is drawn in an epoch."""
    if by == "epochs":
        return [round(size * weight) for size, weight in zip(sizes, weights, strict=True)]
    if length is not None:
        return list(Phase(0, tuple(weights)).counts(length))
    # Draws until each part was seen once
    whole = {n: sizes[n] * sum(weights) / weight for n, weight in enumerate(weights) if weight}
    one = (min if until == "first" else max)(whole, key=lambda part: whole[part])
    others = tuple(Fraction(0) if n == one else weight for n, weight in enumerate(weights))
    rest = round(whole[one]) - sizes[one]
    counts = list(Phase(0, others).counts(rest)) if any(others) else [0] * len(sizes)
    counts[one] = sizes[one]
    return counts


def _check_alike(names: Sequence[str], pipelines: Sequence[Pipeline]) -> None:
    """Raise PipelineError for what cannot be in one batch."""
    problems = []
    first = pipelines[0]
    for name, one in zip(names, pipelines, strict=True):
        if one.masks:
            problems.append(f"mix: {name} has masks, want labels; leave it out")
        elif (one.views, one.form) != (first.views, first.form):
            problems.append(
                f"mix: {name} has other views than {names[0]}; give transform= for all of them"
            )
        elif one.by_part:
            problems.append(
                f"mix: {name} is a mix whose parts have ops of their own; mix its parts"
            )
        if one.target != first.target:
            problems.append(
                f"mix: {name} has another target than {names[0]}; give all the same, or "
                "target={part: name, …}"
            )
        if not len(one.source):
            problems.append(f"mix: {name} has no samples; leave it out")
    if problems:
        raise PipelineError(problems)


def _check_shares(recipe: Recipe, weights: Sequence[Fraction]) -> None:
    """Raise UsageError for parts that are drawn too seldom to be spread evenly; weights: the first
    ones, as they were given.
    """
    later = [phase.weights for phase in recipe.phases[1:]]
    if not 0 < recipe.length <= MOST_DRAWS:
        what = "too many" if recipe.length else "no"
        raise UsageError(f"mix: an epoch has {what} draws (want 1 to {MOST_DRAWS:,}); give length")
    problems = list[str]()
    for own, phase in zip([tuple(weights), *later], recipe.phases, strict=True):
        counts = phase.counts(recipe.length)
        problems += [
            f"mix: {name} has {count} of {recipe.length} draws in an epoch, want 1 in {MOST:,}; "
            "give it more, or 0"
            for name, weight, count in zip(recipe.names, own, counts, strict=True)
            if weight and count * MOST < recipe.length
        ]
    if problems:
        raise UsageError("\n".join(problems))
