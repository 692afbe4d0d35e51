"""The command line: one file per verb.

Results on stdout, log on stderr; exit 0 ok, 1 an error that a user can mend, 2 usage.
"""

import importlib
import os
import signal
import sys
from typing import Annotated

import typer

import fastload
from fastload.cli.output import printable
from fastload.cli.verbs import USAGE, Verbs, WrongCommandLine, as_options, said
from fastload.errors import FastloadError

VERBS = (
    "demo",
    "convert",
    "index",
    "inspect",
    "verify",
    "repair",
    "filter",
    "split",
    "merge",
    "parity",
    "profile",
    "plan",
    "recipes",
    "show",
    "replay",
    "doctor",
)
INTERRUPTED = 130  # the exit code of a verb that Ctrl-C has ended


def say_version(asked: bool) -> None:
    if asked:
        print(f"fastload {fastload.__version__}")
        raise typer.Exit


def build() -> typer.Typer:
    """The application: each module of VERBS has a function `register(app)`."""
    app = typer.Typer(
        name="fastload",
        help="Feed vision training: load, convert, profile, show.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        cls=Verbs,
    )
    app.callback()(top)
    for verb in VERBS:
        importlib.import_module(f"fastload.cli.{verb}").register(app)
    return app


def top(
    version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=say_version, help="Print the version."),
    ] = False,
) -> None:
    """Feed vision training: load, convert, profile, show."""


def main() -> None:
    try:
        status = _status()
    except BrokenPipeError:  # nobody reads our output any more, as in `fastload inspect | head`
        sys.stderr.close()
        sys.exit(1)
    if status == INTERRUPTED:
        die_of_interrupt()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # no traceback of the end
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(status if isinstance(status, int) else 0)


def _status() -> object:
    """The verb's own: it gives nothing, typer.Exit its status. Or that of an error, which is
    told.
    """
    try:
        return build()(prog_name="fastload", standalone_mode=False)
    except FastloadError as error:
        for line in as_options(str(error)).splitlines():
            print(f"fastload: {printable(line)}", file=sys.stderr)
        return error.exit_status
    except WrongCommandLine as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error, file=sys.stderr)
        else:
            print(f"fastload: {printable(said(error))}", file=sys.stderr)
        return USAGE
    except typer.Abort:
        return 1
    except KeyboardInterrupt:  # before or after the verb, which gives its status itself
        return INTERRUPTED


def die_of_interrupt() -> None:
    """End as Ctrl-C ends a program: a shell that runs several stops too."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # closed from the begin
            stream.flush()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)
