"""show, replay and parity of a data set that a program makes: PROGRAM.py:NAME."""

import json

import pytest
from PIL import Image

import fastload
from fastload.cli import programs
from fastload.errors import UsageError
from tests.loader.detection_files import write_voc

PROGRAM = """
from torchvision.datasets import VOCDetection, wrap_dataset_for_transforms_v2
from torchvision.transforms import v2
import torch

train = v2.Compose([
    v2.ToImage(), v2.RandomShortestSize([48, 64], max_size=90), v2.RandomHorizontalFlip(),
    v2.ToDtype(torch.float32, scale=True), v2.ToPureTensor(),
])
data = wrap_dataset_for_transforms_v2(VOCDetection({root!r}, image_set="train", transforms=train))
loader = torch.utils.data.DataLoader(data, 2, collate_fn=list)
wrong = 3

def made():
    return data

def fails():
    raise KeyError("no such folder")

class Kind:
    def __len__(self): ...
    def __getitem__(self, number): ...

def ends():
    raise SystemExit(2)

if __name__ == "__main__":
    raise SystemExit("the program must not run")
"""


@pytest.fixture
def program(tmp_path):
    write_voc(tmp_path / "voc")
    path = tmp_path / "joint_program.py"
    path.write_text(PROGRAM.format(root=str(tmp_path / "voc")))
    return str(path)


def test_replay_shows_each_step_with_its_boxes(run, program, tmp_path):
    sheet, document = tmp_path / "one.png", tmp_path / "one.json"
    what = ("--sample", 2, "--epoch", 3, "--seed", 5)
    done = run("replay", f"{program}:data", *what, "-o", sheet, "--json", document)
    assert (done.exit_code, done.exception) == (0, None)
    found = json.loads(document.read_text())
    assert (found["sample"], found["size_px"], found["recipe"]) == (2, [40, 90], None)
    assert [one["step"] for one in found["log"]] == [
        "RandomShortestSize", "RandomHorizontalFlip", "ToPureTensor",
    ]  # fmt: skip
    loader = fastload.DataLoader(
        programs.dataset(f"{program}:data"), 1, sampler=[2], seed=5, collate_fn=list
    )
    loader.set_epoch(3)
    (((image, target),),) = loader
    assert found["log"][-1]["size_px"] == list(image.shape[1:])
    assert found["log"][-1]["boxes"] == target["boxes"].tolist()
    lines = done.stdout.splitlines()
    assert lines[0].endswith("002.jpg: sample 2, 40x90 px, 3 boxes")
    assert lines[1].startswith("its own transforms, epoch 3, batch ")
    with Image.open(sheet) as drawn:
        assert drawn.format == "PNG"


@pytest.mark.parametrize("name", ["loader", "made"])
def test_parity_and_show(run, program, tmp_path, name):
    done = run("parity", f"{program}:{name}", "--images", 3, "--fail-above", 0)
    assert (done.exit_code, done.exception) == (0, None)
    lines = done.stdout.splitlines()
    assert lines[0] == (
        "its own transforms, 3 images, against torchvision with equal draws; levels of 255"
    )
    assert [line.split() for line in lines[1:4]] == [
        ["stage", "native"], ["decode", "bit-equal"], ["1", "RandomShortestSize", "bit-equal"],
    ]  # fmt: skip
    done = run("show", f"{program}:{name}", "-o", tmp_path / "sheet.html", "--images", 3)
    assert (done.exit_code, done.exception) == (0, None)
    assert (tmp_path / "sheet.html").read_text().count("<article>") == 3


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("dat", "has no dat; did you mean data?"),
        ("zzzzzz", "has no zzzzzz; name a data set, a loader, or a function that gives one"),
        ("wrong", ("wrong is a int, want a data set with a length, or a loader of one; give "
         "another name")),
        ("fails", "line 18 raised KeyError (\"'no such folder'\"); mend the program"),
    ],
)  # fmt: skip
def test_what_is_no_data_set(run, program, name, text):
    done = run("show", f"{program}:{name}", "-o", "x.png")
    assert isinstance(done.exception, UsageError)
    assert str(done.exception) == f"{program}: {text}"


def test_programs_that_do_not_run(run, tmp_path):
    (tmp_path / "broken_program.py").write_text("import torch\nx = 1 / 0\n")
    for name, text in (
        ("none", "is no file; give PROGRAM.py:NAME, or the path of a data set"),
        ("broken_program", ("line 2 raised ZeroDivisionError ('division by zero'); mend the "
         "program")),
    ):  # fmt: skip
        done = run("parity", f"{tmp_path}/{name}.py:x")
        assert str(done.exception) == f"{tmp_path}/{name}.py: {text}"


def test_what_pytorch_runs_is_refused(run, tmp_path):
    (tmp_path / "own_program.py").write_text(
        "import torch\ndata = torch.utils.data.TensorDataset(torch.zeros(4, 3))\n"
    )
    done = run("replay", f"{tmp_path}/own_program.py:data", "--sample", 0)
    assert str(done.exception).startswith(
        f"{tmp_path}/own_program.py:data: PyTorch's own engine runs this data set, and nobody can "
        "tell what it draws: data set torch.utils.data.dataset.TensorDataset "
    )


def test_a_path_that_is_there_is_no_program(tmp_path):
    (tmp_path / "a.py:b").mkdir()
    assert not programs.is_one(str(tmp_path / "a.py:b"))
    assert programs.is_one(str(tmp_path / "c.py:b"))
    assert not programs.is_one("data/train")
    assert not programs.is_one("s3://bucket/a.py")


def test_a_class_and_a_program_that_ends_are_named(program):
    with pytest.raises(UsageError, match=r"Kind is a type, want a data set with a length"):
        programs.dataset(f"{program}:Kind")
    with pytest.raises(UsageError, match=r"raised SystemExit \('2'\); mend the program"):
        programs.dataset(f"{program}:ends")


def test_what_a_program_prints_is_no_part_of_the_document(program, capsys):
    with open(program, "a") as file:
        file.write("print('loading')\n")
    programs.dataset(f"{program}:data")
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "loading\n")
