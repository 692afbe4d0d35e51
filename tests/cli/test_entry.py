"""The command itself: help, exit codes, one-line errors, what an import costs."""

import json
import signal

import pytest

from fastload.cli import VERBS

HEAVY = ("torchvision", "timm", "pyarrow", "nvidia.dali", "ffcv", "cv2", "matplotlib")


def test_help_names_every_verb(command):
    done = command("-m", "fastload", "--help")
    assert done.returncode == 0
    assert all(verb in done.stdout for verb in VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(verb):
    from typer.testing import CliRunner

    from fastload.cli import build

    done = CliRunner().invoke(build(), [verb, "--help"])
    assert done.exit_code == 0, done.output
    assert "Usage" in done.output


def test_a_users_mistake_is_one_line_and_exit_1(fresh_command):
    done = fresh_command("-m", "fastload", "inspect", "no/such/folder")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "fastload: no/such/folder: does not exist; check the path\n"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["no-such-verb"], "no-such-verb"),
        (["demo", "--images", "many"], "--images"),
        (["doctor", "--no-such"], "--no-such"),
    ],
)
def test_wrong_usage_is_exit_2_without_a_traceback(command, arguments, named):
    done = command("-m", "fastload", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    assert named in done.stderr


def test_importing_fastload_imports_nothing_optional(fresh_command):
    done = fresh_command(
        "-c",
        "import json, sys; from fastload import DataLoader, open, transforms; "
        "print(json.dumps(sorted(sys.modules)))",
    )
    loaded = json.loads(done.stdout)
    assert "fastload._native" in loaded
    assert [name for name in HEAVY if name in loaded] == []


def test_listing_recipes_does_not_import_torch(fresh_command):
    done = fresh_command(
        "-c",
        "import sys; from fastload.cli import main\n"
        "try: main()\n"
        "except SystemExit: print('torch' in sys.modules)",
        "recipes",
        "list",
    )
    assert done.stdout.splitlines()[0].startswith("recipe ")
    assert done.stdout.splitlines()[-1] == "False"


def test_a_source_does_not_import_torch(fresh_command):
    done = fresh_command("-c", "import sys, fastload.sources.tars\nprint('torch' in sys.modules)")
    assert done.stdout.split() == ["False"]


COLLECTED = """
import sys, fastload
data = fastload.open(sys.argv[1], [fastload.transforms.RandomResizedCrop((20, 24))])
loader = fastload.DataLoader(data, 4, num_workers=1)
for _ in range(3):
    list(loader)
print(loader.decodes()["indexed"] > 0, "pyarrow" in sys.modules, "pandas" in sys.modules)
"""


def test_collecting_seek_indexes_does_not_import_pandas(fresh_command, folder):
    """pyarrow does, wherever it makes an array of a list; the second epoch would wait for it."""
    pytest.importorskip("pandas")
    done = fresh_command("-c", COLLECTED, folder)
    assert done.stdout.split() == ["True", "True", "False"], done.stderr


# As in a terminal: what a shell runs in the background ignores Ctrl-C
HEARD = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
IMPORTED = """
import os, signal, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "fastload.cli.output":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
"""
AT_THE_END = """
import atexit, os, signal, sys
atexit.register(os.kill, os.getpid(), signal.SIGINT)
"""


@pytest.mark.parametrize("when", [IMPORTED, AT_THE_END])
def test_ctrl_c_before_and_after_a_verb_has_no_traceback(fresh_command, when):
    run = "sys.argv = ['fastload', 'recipes', 'list']\nfrom fastload.__main__ import main\nmain()"
    done = fresh_command("-c", HEARD + when + run)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")
    assert bool(done.stdout) == (when is AT_THE_END)


WITHIN = """
import os, signal, sys
from fastload import recipes
recipes.names = lambda: os.kill(os.getpid(), signal.SIGINT)
"""


@pytest.mark.parametrize("closed", ["", "sys.stdout = None\n"])
def test_ctrl_c_within_a_verb_has_no_traceback(fresh_command, closed):
    run = "sys.argv = ['fastload', 'recipes', 'list']\nfrom fastload.__main__ import main\nmain()"
    done = fresh_command("-c", HEARD + WITHIN + closed + run)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def test_what_ignores_ctrl_c_goes_on_ignoring_it(fresh_command):
    run = "sys.argv = ['fastload', 'recipes', 'list']\nfrom fastload.__main__ import main\nmain()"
    ignore = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    done = fresh_command("-c", ignore + IMPORTED + run)
    assert (done.returncode, done.stderr) == (0, "")
