"""`fastload profile DATA`: its options, its errors, and what it may assume."""

import pytest
import torch

from fastload.backends.table import BACKENDS
from fastload.cli import output
from fastload.errors import FastloadError, SourceError, UsageError
from fastload.recipes import names


def test_the_command_line_knows_every_backend():
    assert ("auto", *BACKENDS) == output.BACKENDS


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        (("--assume", "h200"), UsageError, ("profile: no data set given; give --data DIR, or run "
                                           "fastload demo, which makes one")),
        (("--data", "/no/such", "--assume", "h200"), SourceError, ("/no/such: does not exist; "
                                                                  "check the path")),
        (("--data", "EMPTY", "--assume", "h200"), SourceError,
         ("EMPTY: no class folders (got none, want ROOT/CLASS/IMAGE); put each class into its own "
         "folder")),
        (("--data", "EMPTY", "--assume", "h200", "--recipe", "warm"), UsageError,
         (f"recipe: 'warm' is unknown (want {', '.join(names())} or a .toml file); see fastload "
         "recipes list")),
        (("--data", "EMPTY", "--assume", "h200", "--step-rate", "3"), UsageError,
         "profile: --step-rate 3 and --assume h200 both set the step's rate; give one"),
        (("--data", "EMPTY", "--assume", "h200", "--model", "resnet101"), UsageError,
         ("profile: --model resnet101 is for a recipe's real step, and --step-rate and --assume "
         "play a step without one; leave one out")),
        (("--model", "resnet101", "--", "python", "train.py"), UsageError,
         ("profile: --model resnet101 is for a recipe's real step, and a command trains its own "
         "network; leave one out")),
        (("--data", "EMPTY", "--assume", "b200"), UsageError,
         "rates: 'b200' is unknown (want a100, h100, h200); give your own with --step-rate"),
        (("--data", "EMPTY", "--workers", "-1"), UsageError, ("profile: --workers is -1, want 0 or "
                                                             "more (0: everything in one thread)")),
        (("--data", "EMPTY", "--batch-size", "0"), UsageError, ("profile: --batch-size is 0, want "
                                                               "1 or more")),
        (("--data", "EMPTY", "--step-rate", "0"), UsageError, ("profile: --step-rate is 0, want "
                                                              "more than 0 images/s")),
        (("--data", "EMPTY", "--step-rate", "nan"), UsageError, ("profile: --step-rate is nan, "
                                                                "want more than 0 images/s")),
        (("--data", "EMPTY", "--seconds", "0"), UsageError, ("profile: --seconds is 0, want 1 to "
                                                            "3600")),
        (("--data", "EMPTY", "--backend", "fast"), UsageError,
         ("profile: --backend is 'fast', want auto or native or torch or ffcv or dali or dali-own "
         "or all")),
        (("--data", "a", "EMPTY"), UsageError, ("profile: data given twice (EMPTY and --data a); "
                                               "give one")),
        (("EMPTY", "--assume", "h200"), SourceError,
         ("EMPTY: no class folders (got none, want ROOT/CLASS/IMAGE); put each class into its own "
         "folder")),
        (("--data", "EMPTY", "--fail-if", "slow"), UsageError, ("profile: --fail-if is 'slow', "
                                                               "want cpu-bound or data-bound")),
    ],
)  # fmt: skip
def test_errors_of_the_command_line(run, empty, arguments, kind, text):
    done = run("profile", *(argument.replace("EMPTY", empty) for argument in arguments))
    assert isinstance(done.exception, FastloadError)
    assert (type(done.exception), str(done.exception)) == (kind, text.replace("EMPTY", empty))


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_without_a_gpu_the_step_must_be_assumed(run, photos):
    assert str(run("profile", "--data", photos).exception) == (
        "profile: torch sees no GPU here, so there is no training step to measure; "
        "assume one with --assume a100, h100 or h200, or with --step-rate IMAGES_PER_SECOND"
    )
