"""A wrong command line: one line on stderr that says what was meant, and exit status 2."""

import pytest

from fastload import errors, recipes
from fastload.backends.table import BACKENDS
from fastload.cli import verbs
from fastload.files.formats import READERS, SOURCES, WRITERS

RECIPES = f"want {', '.join(recipes.names())} or a .toml file"


@pytest.fixture
def fails(monkeypatch, capsys):
    """fails("show", …): stderr of a command line that ends with status 2."""
    from fastload import cli

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["fastload", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        said = capsys.readouterr()
        assert (end.value.code, said.out) == (2, "")
        return said.err

    return run


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["cnvert"], "'cnvert' is no verb; did you mean convert?"),
        (["wash"], "'wash' is no verb; see fastload --help"),
        (["recipes", "lst"], "recipes: 'lst' is no verb; did you mean list?"),
        (["show", "x", "--recip", "hot"], "show: no option --recip; did you mean --recipe?"),
        (["show", "x", "--zzz"], "show: no option --zzz; see fastload show --help"),
        (["show", "x", "-q"], "show: no option -q; see fastload show --help"),
        (["convert", "a"], "convert: DST is missing; say where the data set goes"),
        (["show", "x"], "show: missing option '-o' / '--output'; see fastload show --help"),
        (["recipes", "show", "hott"], f"recipe: 'hott' is unknown ({RECIPES}); did you mean hot?"),
        (["recipes", "show", "warm"],
         f"recipe: 'warm' is unknown ({RECIPES}); see fastload recipes list"),
        (["profile", "--data", "x", "--backend", "Nativ"],
         ("profile: --backend is 'Nativ', want auto or native or torch or ffcv or dali or dali-own "
          "or all; did you mean native?")),
        (["profile", "--data", "x", "--device", "cud"],
         "profile: --device is 'cud', want cpu or cuda; did you mean cuda?"),
        (["show", "x", "-o", "a.png", "--backend", "natve"],
         ("show: --backend is 'natve', want auto or native or torch or ffcv or dali; did you mean "
          "native?")),
        (["convert", "a", "b", "--to", "shard"],
         f"convert: to: got 'shard', want one of {', '.join(WRITERS)}; did you mean shards?"),
        (["demo", "--assume", "h20"],
         "rates: 'h20' is unknown (want a100, h100, h200); give your own with --step-rate"),
    ],
)  # fmt: skip
def test_one_line_that_says_what_was_meant(fails, arguments, text):
    assert fails(*arguments) == f"fastload: {text}\n"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["show", "x", "-o", "a.png", "--epoch", "-1"], "show: --epoch is -1, want 0 to 2**32 - 1"),
        (["show", "x", "-o", "a.gif"],
         "a.gif: ends in '.gif', want .png or .html; give another name to --output"),
        (["replay", "x", "--sample", "0", "--batch-size", "0"],
         "replay: --batch-size is 0, want 1 or more"),
        (["parity", "x", "--images", "0"], "parity: --images is 0, want 1 to 100000"),
        (["profile", "x.tar", "--seconds", "0"], "profile: --seconds is 0, want 1 to 3600"),
        (["profile", "--whole", "--steps", "9", "--", "true"],
         "profile: --whole excludes --steps and --ladder; give one"),
        (["plan", "--data", "x", "--gpus", "0"], "plan: --gpus is 0, want 1 or more"),
        (["plan", "--data", "x", "--price", "9"],
         "plan: --price is '9', want a number above 0 per hour; write --price 32.77/h"),
        (["split", "x", "y", "--parts", "z"],
         "split: 'z' is no name with a share; write it like train=0.9,val=0.1"),
        (["filter", "x", "y"],
         "filter: nothing says which samples stay; give --where or --unique"),
    ],
)  # fmt: skip
def test_a_value_that_makes_no_sense_on_any_data(fails, arguments, text):
    assert fails(*arguments) == f"fastload: {text}\n"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ('use backend="native"', "use --backend native"),
        ("use 'exact' or backend='dali-own'", "use 'exact' or --backend dali-own"),
        ("pass num_workers=2; on_error='skip'", "pass --workers 2; --on-error skip"),
        ("fastload.open(path, x=1)", "fastload.open(path, x=1)"),
    ],
)
def test_a_command_line_hears_of_options_not_of_arguments(said, shown):
    assert verbs.as_options(said) == shown


def test_a_format_to_read(fails, tmp_path):
    (tmp_path / "data").mkdir()
    own = ", ".join({**READERS.own, **SOURCES.own})
    assert fails("convert", tmp_path / "data", tmp_path / "out", "--from", "parqet") == (
        f"fastload: format: 'parqet' is unknown (want {own}, or one of another distribution); did "
        "you mean parquet?\n"
    )


def test_nothing_asked_prints_the_help(fails):
    assert fails().startswith("Usage: fastload ")
    assert fails("recipes").startswith("Usage: fastload recipes ")


def test_python_says_it_too():
    with pytest.raises(errors.UsageError) as raised:
        recipes.load("Hot")
    assert str(raised.value) == f"recipe: 'Hot' is unknown ({RECIPES}); did you mean hot?"
    from fastload.backends import table

    with pytest.raises(errors.BackendError) as raised:
        table.facts("trch")
    want = f"backend 'trch' is unknown (want auto, {', '.join(BACKENDS)}); did you mean torch?"
    assert str(raised.value) == want


@pytest.mark.parametrize(
    ("name", "text"),
    [("hott", "did you mean hot?"), ("HOT", "did you mean hot?"), ("xyz", ""), ("", "")],
)
def test_meant(name, text):
    assert errors.meant(name, recipes.names()) == text


def test_what_depends_on_data_is_no_wrong_command_line():
    assert errors.FastloadError.exit_status == 1
    assert errors.misused("a").exit_status == 2
    error = errors.UsageError("a (want b; c); see d")
    assert errors.mistyped(error, "hut", ["hot"]) is error
    assert str(error) == "a (want b; c); did you mean hot?"
    assert str(errors.mistyped(errors.UsageError("a"), "hut", ["hot"])) == "a; did you mean hot?"
    assert str(errors.mistyped(errors.UsageError("a; b"), "x", ["hot"])) == "a; b"
    assert (error.exit_status, errors.UsageError("b").exit_status) == (2, 1)
