"""The options of fastload convert that are for tables of URLs."""

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Annotated, Any

import typer

from fastload.spec import Json


def _option(kind: Any, help: str, metavar: str | None = None, name: str | None = None) -> Any:
    names = () if name is None else (name,)
    return Annotated[kind, typer.Option(*names, metavar=metavar, help=help)]


TEXT, NUMBER, REAL = str | None, int | None, float | None
# Name, type and help, and the default, as conversion.web.options has it
OPTIONS: dict[str, tuple[Any, Any]] = {
    "url_column": (
        _option(TEXT, "Of a table of URLs: the column with them; default: url or URL.", "NAME"),
        None,
    ),
    "caption_column": (
        _option(TEXT, "Of a table of URLs: the captions; default: caption, text or TEXT.", "NAME"),
        None,
    ),
    "checksum_column": (
        _option(TEXT, "Of a table of URLs: MD5 or SHA-256 of each file, in hex.", "NAME"),
        None,
    ),
    "field": (
        _option(
            list[str] | None,
            "Of a table of URLs: a further column, kept in each sample's JSON; may be repeated.",
            "NAME",
        ),
        None,
    ),
    "rows_per_shard": (_option(int, "Rows of a table of URLs in each shard.", "N"), 10_000),
    "connections": (_option(int, "To all hosts at once.", "N"), 128),
    "host_connections": (_option(int, "To one host at once.", "N"), 8),
    "host_rate": (_option(REAL, "Requests per second to one host; default: no limit.", "N"), None),
    "timeout": (_option(float, "For one try of one URL, with its redirects.", "SECONDS"), 20.0),
    "retries": (_option(int, "Further tries after what may pass (429, 5xx, broken).", "N"), 2),
    "redirects": (_option(int, "That are followed, at most.", "N"), 5),
    "max_bytes": (_option(str, "Largest file that is taken, like 32M.", "BYTES"), "32M"),
    "min_side": (_option(int, "Leave out images with a shorter side.", "PX"), 0),
    "max_area": (_option(NUMBER, "Leave out images with more pixels.", "PX"), None),
    "max_aspect": (_option(REAL, "Leave out images that are longer, side to side.", "RATIO"), None),
    "opt_out": (
        _option(
            TEXT,
            "Words of X-Robots-Tag that keep an image out, by commas, or none; default: noai, "
            "noimageai, noindex, noimageindex.",
            "WORDS",
        ),
        None,
    ),
    "robots_txt": (_option(bool, "Ask each site's robots.txt.", name="--robots-txt"), False),
    "user_agent": (_option(TEXT, "What the requests call themselves.", "TEXT"), None),
    "allow_private": (
        _option(bool, "Fetch from loopback and private networks too.", name="--allow-private"),
        False,
    ),
    "failed": (
        _option(TEXT, "The table of URLs that failed; default: DST.failed.parquet.", "FILE"),
        None,
    ),
    "retry_failed": (
        _option(
            bool, "Try the URLs of that table again; add what comes to DST.", name="--retry-failed"
        ),
        False,
    ),
}


def added(
    verb: Callable[..., None],
    group: str = "web",
    options: Mapping[str, tuple[Any, Any]] = OPTIONS,
) -> Callable[..., None]:
    """The verb with these options too, which it gets as the argument `group`, by name."""

    @wraps(verb)
    def whole(**given: Any) -> None:
        values = {name: given.pop(name) for name in options}
        verb(**given, **{group: values})

    own = inspect.signature(verb)
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, (kind, default) in options.items()
    ]
    kept = [one for name, one in own.parameters.items() if name != group]
    vars(whole)["__signature__"] = own.replace(parameters=[*kept, *more])
    whole.__annotations__ = {one.name: one.annotation for one in (*kept, *more)}
    return whole


def given(web: Json) -> list[str]:
    """Options that are not as they are by default, as they are written."""
    return [
        f"--{name.replace('_', '-')}"
        for name, (_, default) in OPTIONS.items()
        if web[name] != default and web[name] != []
    ]
