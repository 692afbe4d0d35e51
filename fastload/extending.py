"""What a package needs that adds a format or a backend to fastload. docs/extending.md is the guide.

Names are imported on use, so that a module with nothing but records stays quick to import.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastload.backends.base import Batch, Batches, Engine
    from fastload.backends.table import BackendFacts
    from fastload.backends.torch import Runner
    from fastload.conversion.options import Options
    from fastload.conversion.parts import Item, Written
    from fastload.conversion.readers.base import Choice, Extra, Listing, Reader
    from fastload.conversion.samples import BadSampleError
    from fastload.conversion.staged_writer import NewFiles, StagedWriter
    from fastload.conversion.writers import Catalog, Writer
    from fastload.errors import BackendError, ConversionError, SourceError
    from fastload.files.formats import Format
    from fastload.plan.plan import Plan
    from fastload.sources.base import Files, FileSource, Location, Source
    from fastload.sources.columns import Column
    from fastload.spec import Work
    from fastload.system.extensions import Record

__all__ = [
    "BackendError",
    "BackendFacts",
    "BadSampleError",
    "Batch",
    "Batches",
    "Catalog",
    "Choice",
    "Column",
    "ConversionError",
    "Engine",
    "Extra",
    "FileSource",
    "Files",
    "Format",
    "Item",
    "Listing",
    "Location",
    "NewFiles",
    "Options",
    "Plan",
    "Reader",
    "Record",
    "Runner",
    "Source",
    "SourceError",
    "StagedWriter",
    "Work",
    "Writer",
    "Written",
]

_HOMES = {
    "backends.base": ("Batch", "Batches", "Engine"),
    "backends.table": ("BackendFacts",),
    "backends.torch": ("Runner",),
    "conversion.options": ("Options",),
    "conversion.parts": ("Item", "Written"),
    "conversion.readers.base": ("Choice", "Extra", "Listing", "Reader"),
    "conversion.samples": ("BadSampleError",),
    "conversion.staged_writer": ("NewFiles", "StagedWriter"),
    "conversion.writers": ("Catalog", "Writer"),
    "errors": ("BackendError", "ConversionError", "SourceError"),
    "files.formats": ("Format",),
    "plan.plan": ("Plan",),
    "sources.base": ("FileSource", "Files", "Location", "Source"),
    "sources.columns": ("Column",),
    "spec": ("Work",),
    "system.extensions": ("Record",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"fastload.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
