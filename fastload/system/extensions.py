"""What other distributions add to fastload, by entry points. docs/extending.md is the guide.

There is one `Table` for each kind of thing that can be added: sources, readers, writers, backends.
fastload's own records stand in the same tables.
"""

import importlib
import importlib.metadata
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import ModuleType
from typing import Any, Generic, TypeVar, cast

from fastload.errors import FastloadError

Entries = Mapping[str, tuple[importlib.metadata.EntryPoint, ...]]  # by name


@dataclass(frozen=True)
class Row:
    """One row of a table: facts that are known before the code behind them is imported."""

    name: str  # that users write; of an entry point the same
    summary: str = field(default="", kw_only=True)  # for help texts: what it is, in a few words
    # Distributions that its library comes in; any one will do
    distributions: tuple[str, ...] = field(default=(), kw_only=True)
    install: str = field(default="", kw_only=True)  # the command that installs one


@dataclass(frozen=True)
class Record(Row):
    """A row of a table, with one module.

    Args:
        name: What users write; that of an entry point is the same.
        module: The module, imported on use; what it has to define depends on the table.
        summary: What it is, in a few words, for help texts.
        distributions: Distributions that its library comes in; any one will do.
        install: The command that installs one.

    Example:
        >>> from fastload.extending import Record
        >>> Record("toy", "toy.ops", summary="a toy").module
        'toy.ops'
    """

    module: str  # imported on use; what it has to define depends on the table


Kind = TypeVar("Kind", bound=Row)


class Table(Mapping[str, Kind], Generic[Kind]):
    """Records by name: fastload's own, then those of other distributions.

    The name of an entry point in `group` is its record's name; the object is the record. Names cost
    no import. A record is loaded when it is asked for by its name, so a broken one harms nobody
    else. fastload's own names cannot be taken.
    """

    def __init__(
        self,
        group: str,
        kind: type[Kind],
        own: Sequence[Kind],
        error: type[FastloadError],
        module: str = "module",
    ) -> None:
        """kind: what records have to be. error: raised for an entry point that is broken. module:
        the field of a record that names its module for this table, which is imported on use.
        """
        self.group, self.kind, self.error, self.module = group, kind, error, module
        self.own = {record.name: record for record in own}

    def __getitem__(self, name: str) -> Kind:
        """Raises KeyError for a name that nobody has, and `error` for a broken entry point."""
        return self.own[name] if name in self.own else self._load(name)

    def __iter__(self) -> Iterator[str]:
        yield from self.own
        yield from (name for name in self._entries() if name not in self.own)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        """Loads nothing."""
        return name in self.own or name in self._entries()

    def others(self) -> list[str]:
        """The names of other distributions' entry points. Loads nothing."""
        return list(self._entries())

    def loaded(self) -> Iterator[Kind]:
        """The records of other distributions, one by one, without those that are broken."""
        return (self[name] for name in self.others() if not self.problem(name))

    def problem(self, name: str) -> str | None:
        """What is wrong with an entry point, in one line; None: nothing."""
        if name in self.own:
            return (
                f"{self._where(name)}: is a name of fastload's own, which is used; rename the "
                "entry point"
            )
        try:
            self[name]
        except self.error as error:
            return str(error)
        return None

    def problems(self) -> list[str]:
        """What is wrong with the entry points of other distributions, one line each."""
        return list(filter(None, map(self.problem, self.others())))

    def distribution(self, name: str) -> str:
        """The distribution of an entry point; "" for a name that has none."""
        return " and ".join(map(_distribution, self._entries().get(name, ())))

    def import_module(self, name: str) -> ModuleType:
        """The module of a record. Raises `error` where it cannot be imported."""
        record = self[name]
        module: str = getattr(record, self.module)
        try:
            return importlib.import_module(module)
        except Exception as error:  # the module is anybody's
            remedy = record.install or f"update {self.distribution(name) or 'fastload-torch'}"
            raise self.error(
                f"{self._where(name)}: module {module} cannot be imported ({_line(error)}); "
                f"{remedy}"
            ) from error

    def function(self, name: str, called: str) -> Callable[..., Any]:
        """A function of a record's module. Raises `error` where there is none."""
        module = self.import_module(name)
        function = getattr(module, called, None)
        if not callable(function):
            raise self.error(
                f"{self._where(name)}: module {module.__name__} has no function {called}; update "
                f"{self.distribution(name) or 'fastload-torch'}"
            )
        return cast("Callable[..., Any]", function)

    def _load(self, name: str) -> Kind:
        entries = self._entries()[name]
        where, who = self._where(name), self.distribution(name)
        if len(entries) > 1:
            raise self.error(
                f"{where}: the name is there {len(entries)} times; uninstall all but one"
            )
        try:
            record: object = entries[0].load()
        except Exception as error:  # the module is anybody's
            raise self.error(
                f"{where}: cannot be loaded ({_line(error)}); update or uninstall {who}"
            ) from error
        if not isinstance(record, self.kind):
            raise self.error(
                f"{where}: is {type(record).__name__}, want {self.kind.__name__}; update or "
                f"uninstall {who}"
            )
        wrong = ""
        if record.name != name:
            wrong = f"its record's name is {record.name!r}, want {name!r}"
        elif not getattr(record, self.module):
            wrong = f"its record says no {self.module}"
        if wrong:
            raise self.error(f"{where}: {wrong}; update or uninstall {who}")
        return record

    def _where(self, name: str) -> str:
        """What an error is about."""
        if name in self.own and name not in self._entries():
            return f"{self.group} {name!r}"
        distributions = " and ".join(map(_distribution, self._entries()[name]))
        return f"entry point {name!r} of {self.group} in {distributions}"

    def _entries(self) -> Entries:
        return _read_entries(self.group, tuple(sys.path))


@lru_cache(maxsize=64)
def _read_entries(group: str, path: tuple[str, ...]) -> Entries:
    """Read once for each sys.path: it takes some milliseconds."""
    entries: dict[str, tuple[importlib.metadata.EntryPoint, ...]] = {}
    for entry in importlib.metadata.entry_points(group=group):
        entries[entry.name] = (*entries.get(entry.name, ()), entry)
    return entries


def _distribution(entry: importlib.metadata.EntryPoint) -> str:
    known = entry.dist.metadata["Name"] if entry.dist else None
    return str(known or entry.value)


def _line(error: Exception) -> str:
    """An error of others' code in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())
