"""Which columns of a table hold images, labels and keys."""

import json
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from fastload.errors import SourceError
from fastload.files.names import shown, unique_suffixes
from fastload.spec import Json

# What a column without features may be called
IMAGES = ("image", "img", "jpg", "jpeg", "png", "picture", "bytes")
LABELS = ("label", "labels", "fine_label", "cls", "class", "target")
KEYS = ("key", "__key__", "id", "file_name")
METADATA = b"huggingface"


class Columns(NamedTuple):
    """What is taken of a table. names: of the classes, where the table says them."""

    image: str
    nested: bool  # a struct with bytes and a path
    # Further images, such structs: masks; the column of each name that files may have
    beside: dict[str, str]
    label: str | None
    key: str | None
    names: list[str] | None


def check_columns(path: str, chosen: Columns, schema: Any, first: str) -> None:
    wanted = {chosen.image, chosen.label, chosen.key, *chosen.beside.values()}
    if missing := wanted - {None, *schema.names}:
        names = ", ".join(sorted(map(str, missing)))
        raise SourceError(
            f"{path}: has no column {names}, which {first} has; give files of one data set"
        )
    check_classes(path, schema, chosen.label, chosen.names, first)


def check_classes(
    path: str, schema: Any, label: str | None, names: Sequence[str] | None, first: str
) -> None:
    """Raise SourceError for a file that names other classes than the first one does, or in another
    order: a label would be another class.
    """
    found = class_names(features_of(schema), label)
    if names is not None and found is not None and list(found) != list(names):
        pairs = enumerate(zip_longest(found, names))
        number, (got, want) = next((at, pair) for at, pair in pairs if pair[0] != pair[1])
        raise SourceError(
            f"{path}: its class {number} is {shown(str(got))}, and in {first} {shown(str(want))}; "
            "give files of one data set"
        )


def columns(path: str, schema: Any) -> Columns:
    """Which columns hold images, labels, keys: by the features that `datasets` writes, else by type
    and name. Raises SourceError.
    """
    features = features_of(schema)
    structs = [name for name in schema.names if is_struct(schema, name)]
    typed = [name for name in of_type(features, "Image") if name in schema.names]
    images = [
        name
        for name in (*typed, *IMAGES, *structs)
        if name in schema.names and holds_bytes(schema, name)
    ]
    if not images:
        raise SourceError(
            f"{path}: no column with images (has {', '.join(schema.names)}; want bytes, or a "
            "struct with bytes); give another file"
        )
    wanted = (*of_type(features, "ClassLabel"), *LABELS)
    plain = [name for name in schema.names if not schema.field(name).type.num_fields]
    label = next((name for name in wanted if name in plain), None)
    key = next((name for name in KEYS if name in plain), None)
    nested = [
        name
        for name in (images[0], *typed)
        if is_struct(schema, name) and holds_bytes(schema, name)
    ]
    beside = unique_suffixes([name for name in nested if name != images[0]])
    return Columns(images[0], images[0] in nested, beside, label, key, class_names(features, label))


def of_type(features: Json, kind: str) -> list[str]:
    return [
        name
        for name, feature in features.items()
        if type(feature) is dict and feature.get("_type") == kind
    ]


def class_names(features: Json, label: str | None) -> list[str] | None:
    """The classes' names, as the label's feature says them."""
    feature = features.get(label) if label else None
    names = feature.get("names") if type(feature) is dict else None
    if type(names) is dict:
        names = names.get("name")
    good = type(names) is list and all(type(name) is str for name in names)
    return names if good else None


def is_struct(schema: Any, name: str) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_struct(schema.field(name).type))


def holds_bytes(schema: Any, name: str) -> bool:
    """Whether a column is of bytes, or a struct with a field of bytes."""
    kind = schema.field(name).type
    if not is_struct(schema, name):
        return _is_binary(kind)
    return kind.get_field_index("bytes") >= 0 and _is_binary(kind.field("bytes").type)


def _is_binary(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def features_of(schema: Any) -> Json:
    try:
        said = json.loads((schema.metadata or {}).get(METADATA, b"{}"))
        features = said["info"]["features"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}
    return features if type(features) is dict else {}
