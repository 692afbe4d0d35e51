"""The columns of detection.record in Parquet files, typed, with the features that `datasets` has
for them.
"""

import json
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from fastload.conversion.parts import Item
from fastload.detection import record
from fastload.errors import ConversionError
from fastload.spec import Json

# Arrow's types by their names, which are those of `datasets` too
OBJECT = {
    "bbox": "float64",
    "category": "int64",
    "name": "string",
    "id": "int64",
    "area": "float64",
    "iscrowd": "int64",
    "keypoints": "float64",
    record.OUTLINE: "string",
}
PLAIN = {"height": "int64", "width": "int64", "bbox_format": "string", "bbox_unit": "string"}
TEXT, WHOLE = "string", "int64"  # of an image_id


def said_by(where: str, name: str, data: bytes) -> record.Said:
    """What the file of the sample `name` says. Raises ConversionError."""
    try:
        said = record.parsed(data)
        record.objects_of(said)
    except ValueError as error:
        raise ConversionError(
            f"{where}: {name}: {record.NAME} holds no objects ({error}); mend it, or pass --extras "
            "drop"
        ) from error
    return said


def identity(said: record.Said) -> str:
    """The type of its image_id."""
    return WHOLE if isinstance(said["image_id"], int) else TEXT


def fields(pa: ModuleType, identity: str) -> list[tuple[str, Any, Json]]:
    """Each column's name, type and feature. identity: of the image_id."""

    def kind(name: str) -> Any:
        return pa.string() if name == TEXT else getattr(pa, name)()

    one = pa.struct([
        (name, pa.list_(kind(of)) if name in record.LISTS else kind(of))
        for name, of in OBJECT.items()
    ])  # fmt: skip
    # Lists as Python's, which every version of `datasets` reads as a list of structs
    feature: Any = [{
        name: [_value(of)] if name in record.LISTS else _value(of) for name, of in OBJECT.items()
    }]  # fmt: skip
    plain = {"image_id": identity, **PLAIN}
    return [
        *((name, kind(of), _value(of)) for name, of in plain.items()),
        ("objects", pa.list_(one), feature),
    ]


def _value(dtype: str) -> Json:
    return {"dtype": dtype, "_type": "Value"}


def columns(where: str, items: Sequence[Item], identity: str) -> dict[str, list[Any]]:
    """The columns of some samples; None of one without such a file. Raises ConversionError."""
    rows = [_row(where, item, identity) for item in items]
    return {name: [row and row[name] for row in rows] for name in record.COLUMNS}


def _row(where: str, item: Item, kind: str) -> record.Said | None:
    data = next((extra.data for extra in item.extras if extra.name == record.NAME), None)
    if data is None:
        return None
    said = said_by(where, item.key, data)
    if identity(said) != kind:
        raise ConversionError(
            f"{where}: {item.key}: its image_id is {said['image_id']!r:.40} (want {kind}, as that "
            "of other images); give all of them numbers, or names"
        )
    try:
        json.dumps(said, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        got = error.object[max(0, error.start - 20) : error.end + 20]
        raise ConversionError(
            f"{where}: {item.key}: its image_id or a name is no text (got {got!r}, want UTF-8); "
            "rename it"
        ) from error
    return record.row_of(said)
