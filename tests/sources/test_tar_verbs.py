"""The verbs of the command line on plain tars: they take what `fastload.open` takes, or say why
not.
"""

import json
import tarfile

import pytest
import typer
from typer.testing import CliRunner

import fastload
from fastload.cli import convert, index, inspect, parity, profile, show, verify
from fastload.cli.profile import _data
from fastload.errors import SourceError
from tests.sources.tar_helpers import batches, contents, put, same, sample, tars_of

COUNT = 10


@pytest.fixture
def run():
    """run("show", PATH, …): a verb in this process; what it raised is in `.exception`."""
    app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)
    for verb in (convert, index, inspect, parity, profile, show, verify):
        verb.register(app)
    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def labelled(tmp_path):
    return tars_of(tmp_path / "tars", COUNT, 2, 4)


@pytest.fixture
def unlabelled(tmp_path):
    """Captions and JSON without a label, as img2dataset has them."""
    (tmp_path / "web").mkdir()
    for tar in range(2):
        members = []
        for number in range(5 * tar, 5 * tar + 5):
            key = f"{number:09d}"
            members += [*sample(key, number), (f"{key}.json", b'{"caption": "a"}')]
        put(tmp_path / "web" / f"{tar:05d}.tar", members, tarfile.PAX_FORMAT)
    return str(tmp_path / "web")


def forms(where):
    return where, f"{where}/{{00000..00001}}.tar", f"{where}/00000.tar"


@pytest.mark.parametrize("data", ["labelled", "unlabelled"])
def test_inspect_and_verify_need_no_labels(run, request, data):
    where = request.getfixturevalue(data)
    for each in forms(where):
        classes = fastload.open(each).classes
        said = json.loads(run("inspect", each, "--json", "-").output)
        assert (said["samples"], said["classes"]) == (len(contents(each)), len(classes))
        said = json.loads(run("verify", each, "--json", "-").output)
        assert (said["ok"], said["samples"]) == (True, len(contents(each)))


def test_verify_names_the_damaged_image(run, labelled):
    with tarfile.open(f"{labelled}/00001.tar") as archive:
        image = archive.getmembers()[0]
    with open(f"{labelled}/00001.tar", "r+b") as file:
        file.seek(image.offset_data)
        file.write(bytes(16))
    result = run("verify", labelled, "--json", "-")
    damages = json.loads(result.output)["damages"]
    assert result.exit_code == 1
    assert [image.name.partition(".")[0] in damage["file"] for damage in damages] == [True]


def test_some_labels_are_no_reason_to_look_away(run, labelled):
    put(f"{labelled}/00009.tar", sample("x", 3), tarfile.GNU_FORMAT)
    result = run("verify", labelled)
    assert isinstance(result.exception, SourceError)
    assert "sample 'x' has no label" in str(result.exception)


def test_show_draws_what_a_loader_of_tars_makes(run, labelled, tmp_path):
    for number, each in enumerate(forms(labelled)):
        result = run("show", each, "-o", tmp_path / f"{number}.png", "--batch-size", "4")
        assert result.exit_code == 0, result.exception
        assert (tmp_path / f"{number}.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize("form", range(3))
def test_convert_takes_the_same_paths(run, labelled, tmp_path, form):
    where = forms(labelled)[form]
    assert run("convert", where, tmp_path / "out").exit_code == 0
    assert contents(tmp_path / "out") == contents(where)
    assert same(batches(tmp_path / "out"), batches(where))


def test_convert_says_that_labels_lack(run, unlabelled, tmp_path):
    result = run("convert", unlabelled, tmp_path / "out")
    assert "pass --labels none" in str(result.exception)
    assert run("convert", unlabelled, tmp_path / "out", "--labels", "none").exit_code == 0
    assert contents(tmp_path / "out") == contents(unlabelled)


def test_index_takes_the_same_paths(run, labelled):
    for each in forms(labelled):
        said = json.loads(run("index", each, "--json", "-").stdout)
        assert (said["kind"], said["samples"]) == ("span", len(contents(each)))


def test_profile_takes_a_tar_for_data():
    assert _data(None, ["a/b.tar"]) == ("a/b.tar", None)
    assert _data(None, ["a/{0..3}.TAR"]) == ("a/{0..3}.TAR", None)
    assert _data(None, ["python"]) == (None, ["python"])


def test_explain_says_that_it_is_native(labelled):
    loader = fastload.DataLoader(fastload.open(labelled, fastload.transforms.CenterCrop(8)), 4)
    said = str(loader.explain())
    assert said.startswith("backend native")
    assert f"seek index: 0 of {COUNT} images" in said
