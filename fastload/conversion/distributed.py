"""A conversion whose units any engine makes: Ray Data, Dask, Spark, a queue of your own.

    recipe = distributed.begin("photos", "out")
    made = [distributed.unit(recipe, number) for number in range(recipe.units)]  # anywhere
    distributed.finish(recipe, made)

Everything that crosses a process is plain and picklable. docs/guides/cluster.md is the guide.
"""

from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from typing import Any

from fastload.conversion import job, workers
from fastload.conversion.cluster import drop, spreading
from fastload.conversion.cluster.recipe import Recipe, digest
from fastload.conversion.cluster.unit import unit
from fastload.conversion.job import ConversionSummary, Job, Options, prepare
from fastload.conversion.journal import Journal
from fastload.conversion.parts_writer import Noted
from fastload.conversion.preparing import identity
from fastload.conversion.readers import ANYTHING, Choice
from fastload.conversion.workers import Advance
from fastload.errors import ConversionError
from fastload.spec import Json

__all__ = ["Recipe", "begin", "finish", "unit"]


class _BegunError(Exception):
    """Leaves a target as an interrupted conversion does: for `finish` to go on with."""


def begin(
    source: str,
    target: str,
    options: Options | None = None,
    choice: Choice = ANYTHING,
    **more: Any,
) -> Recipe:
    """Plan a conversion and make its target ready; writes no sample.

    Until `finish`, the target is an unfinished conversion: nothing reads it, and a conversion
    that begins anew there ends this one.

    Args:
        source: Path or URL, which all workers can open.
        target: Path or URL, which all workers can write.
        options: How to convert.
        choice: What of the source is read.
        more: Fields of the options.

    Returns:
        What `unit` and `finish` take: picklable, the same for all units.

    Raises:
        SourceError: The source cannot be read.
        ConversionError: The target cannot be written.
        UsageError: An option is out of its range.

    Example:
        >>> from fastload.conversion import distributed
        >>> distributed.begin("train", "begun", shuffle=0).units
        1
    """
    prepared = prepare(source, target, replace(options or Options(), **more), choice)
    return begin_job(prepared)


def begin_job(prepared: Job) -> Recipe:
    """The same of a job that is prepared."""
    made = list[Recipe]()
    how = prepared.options
    try:
        with (
            prepared.writer.holding(
                prepared.plan.bytes, overwrite=how.overwrite, resume=how.resume
            ) as hold,
            closing(Journal(hold.journal, identity(prepared), resume=how.resume)) as journal,
        ):
            hold.keep = True
            done = job.earlier(prepared, journal, hold)
            spreading.take_left(prepared, Noted(journal, hold), done)
            with spreading.placed(prepared, hold) as (recipe, place):
                if place.drop is not None:
                    place.drop.write(drop.RECIPE, recipe.text().encode())
            made.append(recipe)
            hold.keep = True
            raise _BegunError
    except _BegunError:
        return made[0]


def finish(
    recipe: Recipe,
    made: Iterable[Json] = (),
    *,
    overwrite: bool = False,
    advance: Advance = workers.ignore,
) -> ConversionSummary:
    """Take all units that were made, make those that are missing, and commit.

    Args:
        recipe: What `begin` returned.
        made: What `unit` returned. Of a local target it is not needed: units are found there.
        overwrite: Replace the data set that stands in the target.
        advance: Told images and bytes since the last call.

    Returns:
        What was written.

    Raises:
        ConversionError: Samples are bad, or the target cannot be written.

    Example:
        >>> from fastload.conversion import distributed
        >>> recipe = distributed.begin("train", "finished")
        >>> distributed.finish(recipe, [distributed.unit(recipe, 0)]).samples
        8
    """
    how = replace(recipe.options, resume=True, overwrite=overwrite, workers=None)
    prepared = prepare(recipe.source, recipe.target, how, recipe.choice)
    if digest(prepared) != recipe.job:
        raise ConversionError(
            f"{recipe.source}: has changed since the conversion began; begin anew"
        )
    return job.run(prepared, advance, given=list(made))
