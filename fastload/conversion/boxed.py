"""Images whose objects are known keep their size: boxes and masks are of its pixels."""

from collections.abc import Iterable

import numpy as np

from fastload.conversion.editing import Edits
from fastload.conversion.readers.base import Extra, Reader
from fastload.conversion.samples import BadSampleError, Facts
from fastload.detection import record
from fastload.errors import ConversionError

INSTEAD = "leave --max-side, --budget and --apply-exif out, or pass --extras drop"


def refuse_edits(where: str, reader: Reader, edits: Edits) -> None:
    """Raise ConversionError for edits that change sizes of images whose objects are known."""
    if edits.max_side is not None:
        refuse(where, reader, f"--max-side {edits.max_side}")
    elif edits.apply_exif:
        refuse(where, reader, "--apply-exif")


def refuse(where: str, reader: Reader, option: str) -> None:
    """The same for an option. The first sample that has files beside it tells for all."""
    first = next(iter(np.flatnonzero(reader.beside).tolist()), None)
    if first is not None and any(one.name == record.NAME for one in _extras(reader, first)):
        raise ConversionError(
            f"{where}: {option} would change sizes of images whose boxes are kept; {INSTEAD}"
        )


def _extras(reader: Reader, sample: int) -> tuple[Extra, ...]:
    try:
        return reader.extras(sample)
    except BadSampleError:  # which is said where all are read
        return ()


def check_size(extras: Iterable[Extra], facts: Facts) -> None:
    """Raise BadSampleError for an image that gets another size than its objects have."""
    size = size_of(extras)
    if size not in (None, (facts.height, facts.width)):
        raise BadSampleError(f"has objects, and would get another size; {INSTEAD}")


def check_sample(extras: Iterable[Extra], facts: Facts) -> None:
    """Raise BadSampleError for objects that are none, or are of another image."""
    size = size_of(extras)
    if size is not None and size != (facts.height, facts.width):
        raise BadSampleError(
            f"has objects of {size[0]}x{size[1]} px (got {facts.height}x{facts.width}); convert it "
            "again"
        )


def size_of(extras: Iterable[Extra]) -> tuple[int, int] | None:
    """Height and width of the image, px, as its objects say; None: it has none.

    Raises BadSampleError.
    """
    data = next((one.data for one in extras if one.name == record.NAME), None)
    if data is None:
        return None
    try:
        return record.objects_of(record.parsed(data)).size
    except ValueError as error:
        raise BadSampleError(f"has objects that cannot be read ({error}); mend them") from error
