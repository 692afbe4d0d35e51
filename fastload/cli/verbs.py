"""How every verb reads its command line: plain usage lines, help that fits the terminal, one line
for a mistake.
"""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

from fastload.cli.output import to_stdout
from fastload.errors import meant

if TYPE_CHECKING:
    from collections.abc import Iterable

# The base of what typer raises for a wrong command line; typer has click's classes inside.
WrongCommandLine: type[Exception] = typer.BadParameter.__mro__[1]
USAGE = 2  # the exit status of a wrong command line


def plain_usage(pieces: Sequence[str]) -> list[str]:
    """Usage in plain words: SRC for {SRC}; what has dots of its own gets no more."""
    bare = (re.sub(r"[{}]", "", piece) for piece in pieces)
    return [re.sub(r"^(.*(?:…|\.\.\.).*)\.\.\.$", r"\1", piece) for piece in bare]


def help_record(each: Any, context: typer.Context) -> tuple[str, str] | None:
    """An argument or option as help shows it, an argument without its Python type; None: hidden."""
    record = each.get_help_record(context)
    if record is None:
        return None
    return re.sub(r" <[^>]*>$", "", record[0]), record[1]


def _write(params: "Iterable[Any]", context: typer.Context, formatter: Any) -> None:
    """Arguments and options into help."""
    params = list(params)
    for title, kind in (("Arguments", "argument"), ("Options", "option")):
        records = [help_record(each, context) for each in params if each.param_type_name == kind]
        if shown := [record for record in records if record is not None]:
            with formatter.section(title):
                formatter.write_dl(shown)


class Verb(TyperCommand):
    """One verb."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with to_stdout():  # --help
            return super().make_context(*args, **kwargs)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return plain_usage(super().collect_usage_pieces(ctx))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        _write(self.get_params(ctx), ctx, formatter)


class Verbs(TyperGroup):
    """Verbs below one name."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with to_stdout():  # --help and --version
            return super().make_context(*args, **kwargs)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return plain_usage(super().collect_usage_pieces(ctx))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        rows = [
            (name, first_sentence(command.help or ""))
            for name, command in self.commands.items()
            if not command.hidden
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        _write(self.get_params(ctx), ctx, formatter)
        self.format_commands(ctx, formatter)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            cure = meant(args[0], self.commands) or f"see {ctx.command_path} --help"
            ctx.fail(f"{args[0]!r} is no verb; {cure}")
        return super().resolve_command(ctx, args)


def given(context: typer.Context, *but: str) -> list[str]:
    """The options that a command line has, whatever their values, and "the command" for its
    argument; but: those to leave out.
    """
    found = []
    for each in context.command.params:
        source = context.get_parameter_source(each.name or "")
        if source is not None and source.name == "COMMANDLINE":
            found.append(each.opts[0] if each.param_type_name == "option" else "the command")
    return [name for name in found if name not in but]


def first_sentence(text: str) -> str:
    """The first sentence of a verb's help, on one line."""
    return re.split(r"(?<=\.)\s", " ".join(text.split("\n\n", maxsplit=1)[0].split()))[0]


def old_names(**names: str) -> dict[str, Any]:
    """context_settings of a verb whose options had other names: old_names(out="output")."""
    return {"token_normalize_func": lambda name: names.get(name, name)}


def said(error: Any) -> str:
    """What is wrong with a command line, on one line: verb, mistake, what to do."""
    context = error.ctx
    path = context.command_path if context is not None else "fastload"
    where = "".join(f"{word}: " for word in path.split()[1:2])
    option = getattr(error, "option_name", None)
    if option is not None and hasattr(error, "possibilities"):
        known = [form for each in context.command.get_params(context) for form in each.opts]
        near = meant(option, (form for form in known if form.startswith("-")))
        return f"{where}no option {option}; {near or f'see {path} --help'}"
    own = " is no verb; " in error.message or getattr(error, "param", None) is None
    text = " ".join((error.message if own else error.format_message()).split())
    if own and "; " in text:
        return f"{where}{text}"
    return f"{where}{text[:1].lower()}{text[1:].rstrip('.')}; see {path} --help"


# Arguments of DataLoader, as its messages name them, and the options that stand for them.
OPTIONS = {
    "backend": "--backend",
    "batch_size": "--batch-size",
    "device": "--device",
    "num_workers": "--workers",
    "on_error": "--on-error",
}
ARGUMENT = re.compile(rf"\b({'|'.join(OPTIONS)})=(['\"]?)([\w.:-]+)\2")


def as_options(text: str) -> str:
    """A message of the library in a command line's words: --backend native, not
    backend='native'.
    """
    return ARGUMENT.sub(lambda one: f"{OPTIONS[one[1]]} {one[3]}", text)


def words(names: "Callable[[], Iterable[str]]") -> Callable[[str], list[str]]:
    """What a shell completes an option's value with; `names` is called only then."""

    def beginning(incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return beginning


def _recipes() -> Sequence[str]:
    from fastload import recipes

    return recipes.names()


def _gpus() -> Sequence[str]:
    from fastload.recipes import rates

    return rates.gpus()


RECIPES, GPUS = words(_recipes), words(_gpus)


def unknown_word(
    verb: str, option: str, value: str, known: Sequence[str], proposed: Sequence[str]
) -> str:
    """The text for an option's value that is none of the known words."""
    near = meant(value, proposed)
    return f"{verb}: --{option} is {value!r}, want {' or '.join(known)}" + (
        f"; {near}" * bool(near)
    )
