"""Ultralytics' data.yaml: the folders of the splits, and the names of the classes."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fastload.errors import SourceError
from fastload.files.names import SHOWN, Inner, NameRefusedError
from fastload.system import limits

FILES = ("data.yaml", "data.yml", "dataset.yaml")
SPLITS = ("train", "val", "test")
ABOVE = "../"  # Roboflow's files are one folder off, and Ultralytics drops this


@dataclass(frozen=True)
class Config:
    """What a data set says of itself.

    Args:
        splits: Of each its folders and lists, below the root.
        names: Of the classes.
    """

    splits: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    names: tuple[str, ...] = ()


def read_config(root: str) -> Config:
    """Of the file in a folder; nothing where there is none. Raises SourceError."""
    for name in FILES:
        path = os.path.join(root, name)
        if os.path.isfile(path):
            return _config(path, _parsed(path))
    return Config()


def _parsed(path: str) -> Any:
    """Plain values. Aliases, by which a small file makes a large value, are refused."""
    try:
        import yaml
    except ImportError as error:
        raise SourceError(f"{path}: needs PyYAML; run pip install pyyaml") from error

    class Plain(yaml.SafeLoader):  # type: ignore[misc]
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                raise yaml.YAMLError("it has an alias (*)")
            return super().compose_node(parent, index)

    try:
        with open(path, "rb") as file:
            return Plain(limits.small(file, limits.CONFIG)).get_single_data()
    except (yaml.YAMLError, OSError, ValueError, RecursionError) as error:
        what = " ".join(str(error).split())
        raise SourceError(f"{path}: cannot be read ({what}); mend it") from error


def _config(path: str, said: Any) -> Config:
    if not isinstance(said, dict):
        raise SourceError(f"{path}: is no mapping (got {type(said).__name__}); mend it")
    splits = {
        split: tuple(_inner(path, split, one) for one in _listed(said[split]))
        for split in SPLITS
        if said.get(split)
    }
    return Config(splits, _names(path, said.get("names")))


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _inner(path: str, split: str, name: Any) -> str:
    """A folder or list below the root."""
    text = name.removeprefix("./").removeprefix(ABOVE).rstrip("/") if isinstance(name, str) else ""
    try:
        return Inner(text)
    except NameRefusedError as error:
        got = repr(name)[:SHOWN]
        raise SourceError(
            f"{path}: {split} is {got} ({error}); name a folder below that of this file"
        ) from error


def _names(path: str, names: Any) -> tuple[str, ...]:
    """A list, or a mapping of 0, 1, …"""
    if isinstance(names, dict):
        if sorted(names, key=str) != sorted(range(len(names)), key=str):
            raise SourceError(f"{path}: names are not numbered 0 to {len(names) - 1}; mend it")
        names = [names[number] for number in range(len(names))]
    if names is None:
        return ()
    if not isinstance(names, list) or not all(isinstance(one, (str, int)) for one in names):
        raise SourceError(f"{path}: names are no list of texts; mend it")
    return tuple(map(str, names))
