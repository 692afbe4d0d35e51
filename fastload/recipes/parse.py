"""From a TOML file to a checked Recipe: every problem at once, and nothing in the file is ever
evaluated.
"""

import difflib
import hashlib
import inspect
import json
import sys
import types
import typing
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import Annotated, Any

from fastload.errors import PipelineError, UsageError
from fastload.plan.steps import infer_specs
from fastload.recipes.schema import Recipe, Training
from fastload.recipes.settings import Between, OneOf
from fastload.spec import Json
from fastload.transforms import Op, registry
from fastload.transforms.views import MOST

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Table = Json
MOST_BYTES, MOST_LINE = 1 << 16, 1 << 12  # bytes of a file, of a line
WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}

NAMED = {  # other libraries' definitions of the same ops
    "AugMix": ("composer", "timm"), "AutoAugment": ("timm",), "RandAugment": ("composer", "timm"),
    "RandomErasing": ("timm",),
    "TrivialAugmentWide": ("official",),
}  # fmt: skip
VARIANTS = tuple(f"{name}.{variant}" for name, variants in NAMED.items() for variant in variants)


def read_toml(path: str) -> Table:
    """Raises UsageError."""
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    if len(data) > MOST_BYTES:
        raise UsageError(
            f"{path}: is too long for a recipe (want up to {MOST_BYTES} bytes); shorten it"
        )
    # The cost of a key with many parts grows with its square.
    if (longest := max(map(len, data.splitlines()), default=0)) > MOST_LINE:
        raise UsageError(
            f"{path}: is too long for a recipe (a line has {longest} bytes, want up to "
            f"{MOST_LINE}); shorten it"
        )
    try:
        table: Table = tomllib.loads(data.decode())
    except (ValueError, RecursionError) as error:
        # TOML's and UTF-8's errors, numbers of thousands of digits, lists in lists
        raise UsageError(f"{path}: is not TOML ({error}); correct it") from error
    return table


def parse(table: Table, where: str) -> Recipe:
    """The recipe that `table`, read from the file `where`, describes.

    Raises PipelineError with every problem.
    """
    problems: list[str] = []
    texts = {key: _value(table, key, str, where, problems) for key in ("name", "title", "source")}
    data, training = (_table(table, key, where, problems) for key in ("data", "training"))
    problems += _unknown(table, {*texts, "data", "training"}, where)
    problems += _unknown(data, {"train", "eval", "views"}, f"{where}, data")
    views = _views(data, f"{where}, data.views", problems) if "views" in data else ()
    train = (
        views[0][0]
        if views
        else ()
        if "views" in data
        else _ops(data, "train", f"{where}, data.train", problems)
    )
    evaluation = _ops(data, "eval", f"{where}, data.eval", problems)
    steps = build(Training, training, f"{where}, training", problems)
    if problems:
        raise PipelineError(problems)
    return Recipe(
        **texts,
        where=where,
        train=train,
        eval=evaluation,
        training=steps,
        views=views,
        hash=digest(table),
    )


def digest(table: Table) -> str:
    """The same for files that say the same, whatever their comments, order and spacing: 16
    hexadecimal digits.
    """
    return hashlib.sha256(json.dumps(table, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _views(data: Table, where: str, problems: list[str]) -> tuple[tuple[tuple[Op, ...], int], ...]:
    """(ops, how many views they make) of a list of tables, in order."""
    if "train" in data:
        problems.append(f"{where}: stands beside data.train, want one of them; remove the other")
    entries = data["views"]
    if (
        not isinstance(entries, list)
        or not entries
        or not all(isinstance(entry, dict) for entry in entries)
    ):
        problems.append(
            f"{where}: no views (want a list of {{ count = N, ops = [...] }}); give at least one"
        )
        return ()
    views = []
    for number, entry in enumerate(entries, start=1):
        here = f"{where}, entry {number}"
        count = _value(entry, "count", Annotated[int, Between(1, MOST)], here, problems)
        problems += _unknown(entry, {"count", "ops"}, here)
        views.append((_ops(entry, "ops", here, problems), count or 1))
    total = sum(count for _, count in views)
    if total > MOST:
        problems.append(f"{where}: {total} views, want up to {MOST}; lower the counts")
    return tuple(views)


def build(cls: type, table: Table, where: str, problems: list[str]) -> Any:
    """A `cls` (a frozen dataclass) from a table, or None and its problems."""
    before = len(problems)
    hints = typing.get_type_hints(cls, include_extras=True)
    defaults = {f.name: f.default for f in fields(cls)}
    values = {
        name: _field(name, hint, table, where, problems)
        if name in table or defaults[name] is MISSING
        else defaults[name]
        for name, hint in hints.items()
    }
    problems += _unknown(table, set(hints), where)
    return cls(**values) if len(problems) == before else None


def _field(key: str, hint: Any, table: Table, where: str, problems: list[str]) -> Any:
    if isinstance(hint, types.UnionType):  # X | None: a table that may be left out
        hint = typing.get_args(hint)[0]
    if is_dataclass(hint):
        inner = _table(table, key, where, problems)
        return (
            build(typing.cast("type", hint), inner, f"{where}.{key}", problems) if inner else None
        )
    return _value(table, key, hint, where, problems)


def _value(table: Table, key: str, hint: Any, where: str, problems: list[str]) -> Any:
    """hint: a type, or Annotated with the type and its limit."""
    kind, limit = typing.get_args(hint)[:2] if typing.get_args(hint) else (hint, None)
    if key not in table:
        problems.append(f"{where}: {key} is missing; give {WORDS[kind]}")
        return None
    value = table[key]
    fits = isinstance(value, (int, float) if kind is float else kind) and (
        kind is bool or not isinstance(value, bool)
    )
    if not fits:
        problems.append(f"{where}: {key} is {value!r}, want {WORDS[kind]}")
    elif isinstance(limit, OneOf) and value not in limit.words:
        problems.append(f"{where}: {key} is {value!r}, want one of {', '.join(limit.words)}")
    elif isinstance(limit, Between) and not limit.low <= value <= limit.high:
        problems.append(f"{where}: {key} is {value}, want {limit.low:g} to {limit.high:g}")
    return value


def _table(table: Table, key: str, where: str, problems: list[str]) -> Table:
    value = table.get(key)
    if isinstance(value, dict) and value:
        return value
    problems.append(
        f"{where}: {key} is {'missing' if value is None else 'not a table with values'}; give a "
        f"table [{key}]"
    )
    return {}


def _shown(key: str) -> str:
    """A key as a user can read it, on one line."""
    return key if key.isprintable() else repr(key)


def _unknown(table: Table, known: set[str], where: str) -> list[str]:
    out = []
    for key in table:
        near = difflib.get_close_matches(key, known, 1)
        if key not in known:
            hint = f"is {near[0]} meant?" if near else "remove it"
            out.append(
                f"{where}: {_shown(key)} is unknown (want {', '.join(sorted(known))}); {hint}"
            )
    return out


def _ops(data: Table, key: str, where: str, problems: list[str]) -> tuple[Op, ...]:
    """The ops of a list of tables, in order."""
    entries = data.get(key)
    if not isinstance(entries, list) or not entries:
        if data:
            problems.append(
                f"{where}: no ops (want a list of {{ op = NAME, ... }}); give at least one"
            )
        return ()
    parsed = [
        _op(entry, f"{where}, op {number}", problems)
        for number, entry in enumerate(entries, start=1)
    ]
    ops = tuple(op for op in parsed if op is not None)
    if len(ops) == len(parsed):
        problems += _misplaced(ops, where)
    return ops


def _maker(name: str) -> Callable[..., Op]:
    """What makes the op of that name; nothing else is ever called. Raises UsageError."""
    kind, _, variant = name.partition(".")
    op: Callable[..., Op] = registry.named(kind)
    return getattr(op, variant) if variant else op


def _op(entry: Any, where: str, problems: list[str]) -> Op | None:
    name = entry.get("op") if isinstance(entry, dict) else None
    if not isinstance(name, str) or (name not in registry.OPS and name not in VARIANTS):
        names = ", ".join(sorted((*registry.OPS, *VARIANTS)))
        problems.append(f"{where}: op is {name!r}, want one of {names}")
        return None
    try:
        make = _maker(name)
    except UsageError as error:
        problems.append(f"{where}: {error}")
        return None
    arguments = {key: value for key, value in entry.items() if key != "op"}
    parameters = inspect.signature(make).parameters
    known = list(parameters)
    if wrong := [key for key in arguments if key not in known]:
        problems.append(
            f"{where} ({name}): takes no {', '.join(map(_shown, wrong))} (it takes "
            f"{', '.join(known) or 'nothing'}); remove it"
        )
        return None
    flags = [key for key in arguments if parameters[key].annotation in (bool, "bool")]
    if wrong := [key for key in flags if not isinstance(arguments[key], bool)]:
        problems.append(
            f"{where} ({name}): {wrong[0]} is {arguments[wrong[0]]!r}, want {WORDS[bool]}"
        )
        return None
    try:
        return make(**arguments)
    except (TypeError, ValueError, AttributeError) as error:
        problems.append(f"{where} ({name}): its arguments do not fit ({error}); correct them")
        return None


def _misplaced(ops: tuple[Op, ...], where: str) -> list[str]:
    try:
        _, spec = infer_specs(ops)
    except PipelineError as error:
        return [f"{where}, {problem}" for problem in error.problems]
    except (TypeError, ValueError) as error:
        # An argument of a wrong type that is found only where it is compared
        return [f"{where}: an argument has a wrong type ({error}); correct it"]
    if spec.height is None or not spec.tensor:
        return [
            (
                f"{where}: ends with an image of no fixed size or no tensor; end CROP with a fixed "
                "size and add ToImage"
            )
        ]
    return []
