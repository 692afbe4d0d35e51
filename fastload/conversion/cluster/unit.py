"""One unit: a shard or table, made and checked by any process, in any number of copies."""

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator

from PIL import Image

from fastload.conversion import parts, store_units, workers
from fastload.conversion.cluster import drop, recipe
from fastload.conversion.cluster.recipe import Recipe
from fastload.conversion.making import Maker
from fastload.conversion.parts import Written
from fastload.conversion.parts_writer import Job, fails, how_of
from fastload.conversion.workers import Advance, Stop
from fastload.conversion.writers import Samples
from fastload.files import cache
from fastload.files.below import Folder
from fastload.remote.urls import is_url
from fastload.spec import Json

Ask = Callable[[int], None]  # is told each sample before it is made


def unit(
    made_by: Recipe,
    number: int,
    *,
    write: bool = True,
    advance: Advance = workers.ignore,
    stop: Stop | None = None,
    ask: Ask | None = None,
) -> Json:
    """Make unit `number`, from 0: read its samples, check and change them, write its files.

    Any process may do it, at any time, any number of times; the first that ends counts. Its bytes
    depend on the recipe alone. In threads of one process, each unit has one.

    Args:
        made_by: What `distributed.begin` returned.
        number: Which unit, 0 to units - 1.
        write: Whether to write it, or only to check its samples.
        advance: Told images and bytes since the last call.
        stop: Asked between two samples.
        ask: Told the number of each sample before it is made.

    Returns:
        Plain values for `distributed.finish`: "part", the unit's number; "job"; "whole", whether
        it was written; "samples" and all else that is known of them.

    Raises:
        ConversionError: The source is another one here, or the conversion is over.
        SourceError: The source cannot be read here.
        StoreError: The store does not answer.
        OSError: Its files cannot be written here.

    Example:
        >>> from fastload.conversion import distributed
        >>> recipe = distributed.begin("train", "made", shard_bytes=2000)
        >>> distributed.unit(recipe, 0)["part"]
        0
    """
    job = recipe.opened(made_by)
    Image.init()  # Pillow loads its plugins at first use, which is not safe in several threads
    stop = stop or Stop()
    maker = Maker(
        job.reader, how_of(job.options, job.writer.seek_step), _samples(job, number, ask),
        lambda size: advance(1, size), stop,
    )  # fmt: skip

    def wanted(samples: Samples) -> bool:
        return write and not fails(job, samples.bad)

    def pack(part: Written) -> Json:
        return {"part": number, "job": made_by.job, "whole": wanted(maker), **parts.pack(part)}

    writer = recipe.writer_of(made_by, job)
    hold = recipe.hold_of(job, writer)
    if is_url(made_by.target):
        with _scratch(made_by) as folder, hold.lent(folder):
            part = writer.write(number, maker, wanted)
            if wanted(maker):
                part = store_units.upload(writer, part, made_by.owner, lambda: advance(0, 0), stop)
            return pack(part)
    with drop.joined(made_by.drop) as dropped, drop.begun(dropped, number) as folder:
        with hold.lent(folder):
            said = pack(writer.write(number, maker, wanted))
        if said["whole"]:
            drop.finish(dropped, folder, number, said)
        return said


def _samples(job: Job, number: int, ask: Ask | None) -> Iterator[int]:
    for sample in job.plan.samples(number).tolist():
        if ask is not None:
            ask(sample)
        yield sample


@contextlib.contextmanager
def _scratch(made_by: Recipe) -> Iterator[Folder]:
    """A folder of the local disk for one shard until it is uploaded. Those of workers that were
    killed are removed first.
    """
    root = os.path.abspath(made_by.options.scratch or cache.path("converting"))
    if cache.inside(os.path.join(root, "x")):
        cache.make(root).close()
    os.makedirs(root, exist_ok=True)
    with store_units.own_folder(root, f"{made_by.job}-{secrets.token_hex(8)}") as folder:
        yield folder
