"""The command line in this process, and what stands under a target's name."""

import sys

from fastload import cli


def run(capfd, *arguments):
    """A command in this process: exit code, stdout, stderr."""
    before = sys.argv
    sys.argv = ["fastload", *map(str, arguments)]
    try:
        cli.main()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.argv = before
    said = capfd.readouterr()
    return code, said.out, said.err
