"""The pictures of `fastload demo`: the same on every run, like ImageNet's in what a decoder sees,
and never half a folder.
"""

import dataclasses
import hashlib
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import fastload
from fastload import demo_images
from fastload.demo_images import files, make_folder, one_image
from fastload.demo_images.files import Info
from fastload.errors import ConversionError, UsageError
from tests.waiting import until

FACTORS = {
    "grey": (0x11,),
    "4:4:4": (0x11,) * 3,
    "4:2:2": (0x21, 0x11, 0x11),
    "4:2:0": (0x22, 0x11, 0x11),
}
SOF0, DHT, SOS, DRI = 0xC0, 0xC4, 0xDA, 0xDD
STANDARD_TABLES = 416  # bytes of the four tables of annex K; two of them for grey
SEED = 5


@pytest.fixture(scope="module")
def sample() -> list[tuple[bytes, Info]]:
    return [one_image(index, SEED) for index in range(80)]


@pytest.fixture(scope="module")
def run_apart(tmp_path_factory) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Run code in a process that has this module without torch: torch takes each worker seconds to
    import.
    """
    place = tmp_path_factory.mktemp("apart")
    (place / "fastload").mkdir()
    (place / "fastload/__init__.py").touch()
    for name in ("demo_images", "errors.py", "spec.py"):
        (place / "fastload" / name).symlink_to(Path(fastload.__file__).with_name(name))

    def run(code: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        code = "import os, signal\nfrom fastload.demo_images import make_folder\n" + code
        command, environment = [sys.executable, "-c", code], {**os.environ, **environment}
        return subprocess.run(
            command,
            cwd=place,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )

    return run


def segments(jpeg: bytes) -> dict[int, bytes]:
    """Payload of every marker up to the scan; equal markers are joined."""
    found: dict[int, bytes] = {}
    at = 2
    while SOS not in found:
        marker, size = jpeg[at + 1], int.from_bytes(jpeg[at + 2 : at + 4], "big")
        found[marker] = found.get(marker, b"") + jpeg[at + 4 : at + 2 + size]
        at += 2 + size
    return found


def tree(root: Path) -> dict[str, str]:
    return {
        str(p.relative_to(root)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(root.rglob("*"))
        if p.is_file()
    }


def test_an_image_depends_on_index_and_seed_alone(sample):
    assert one_image(7, SEED) == sample[7]
    assert one_image(7, SEED + 1)[0] != sample[7][0]
    assert len({jpeg for jpeg, _ in sample}) == len(sample)
    assert [info.label for _, info in sample] == [index % 20 for index in range(80)]


def test_the_bytes_are_what_the_info_says(sample):
    for jpeg, info in sample:
        parts = segments(jpeg)
        frame, components = parts[SOF0], parts[SOF0][5]  # SOF0: baseline, never progressive
        assert (int.from_bytes(frame[1:3], "big"), int.from_bytes(frame[3:5], "big")) == (
            info.height,
            info.width,
        )
        assert tuple(frame[7 + 3 * c] for c in range(components)) == FACTORS[info.sampling]
        assert DRI not in parts
        assert info.optimized == (len(parts[DHT]) not in {STANDARD_TABLES, STANDARD_TABLES // 2})
        with Image.open(io.BytesIO(jpeg)) as image:
            image.load()
            assert (image.height, image.width) == (info.height, info.width)
            assert image.mode == ("L" if info.sampling == "grey" else "RGB")


def test_sizes_and_bytes_follow_imagenet(
    sample,
):  # 1,000 real files: 500 x 375 and 107 KB at the median, 4.6 bits per pixel
    sizes = np.array([(info.height, info.width) for _, info in sample])
    lengths = np.array([len(jpeg) for jpeg, _ in sample])
    bits = 8 * lengths / sizes.prod(axis=1)
    assert 160_000 <= np.median(sizes.prod(axis=1)) <= 190_000
    assert 85_000 <= np.median(lengths) <= 130_000
    assert 4.0 <= bits.mean() <= 5.3
    assert 0.8 <= np.quantile(bits, 0.05) <= 1.6
    assert 7.0 <= np.quantile(bits, 0.95) <= 10.0
    assert 0.6 <= (sizes[:, 0] < sizes[:, 1]).mean() <= 0.8
    assert (sizes[:, 0] != sizes[:, 1]).mean() > 0.9


# Real files: 76.1 % 4:4:4, 20.3 % 4:2:0, 1.2 % 4:2:2, 2.3 % grey, 97.9 % optimised, 67 % quality 96
def test_kinds_follow_imagenet():
    infos = [files.draw_info(files.random(SEED, index), 0) for index in range(2000)]
    share = {kind: np.mean([info.sampling == kind for info in infos]) for kind in FACTORS}
    assert share == pytest.approx(
        {"4:4:4": 0.761, "4:2:0": 0.203, "4:2:2": 0.012, "grey": 0.023}, abs=0.03
    )
    assert min(share.values()) > 0
    assert np.mean([info.optimized for info in infos]) == pytest.approx(0.979, abs=0.01)
    assert np.mean([info.quality == 96 for info in infos]) == pytest.approx(0.68, abs=0.03)
    pixels = [info.height * info.width for info in infos]
    assert np.mean(pixels) == pytest.approx(201_700, rel=0.1)
    assert min(pixels) < 20_000
    assert 1_500_000 < max(pixels) <= 1800**2


def test_a_picture_too_dense_for_pillows_buffer_gets_standard_tables(monkeypatch):
    index = next(k for k in range(100) if files.draw_info(files.random(SEED, k), 0).optimized)
    encode = demo_images.encode

    def small_buffer(planes, info):
        if info.optimized:
            raise OSError("broken data stream when writing image file")
        return encode(planes, info)

    wanted = one_image(index, SEED)[1]
    monkeypatch.setattr(demo_images, "encode", small_buffer)
    jpeg, info = one_image(index, SEED)
    assert info == dataclasses.replace(wanted, optimized=False)
    assert len(segments(jpeg)[DHT]) == STANDARD_TABLES


def test_the_folder_is_the_same_for_any_number_of_workers(tmp_path, run_apart):
    done: list[int] = []
    make_folder(tmp_path / "one", count=41, classes=3, seed=SEED, workers=1, on_done=done.append)
    run = run_apart(
        f"make_folder({str(tmp_path / 'two')!r}, count=41, classes=3, seed={SEED}, workers=2, "
        "on_done=print)"
    )
    assert (run.returncode, run.stdout.split(), run.stderr) == (0, ["20", "20", "1"], "")
    one = tree(tmp_path / "one")
    assert one == tree(tmp_path / "two")
    assert len(one) == 41 + 1
    assert {Path(name).parent.name for name in one} == {"class_00", "class_01", "class_02", ""}
    assert (tmp_path / "one/class_02/000005.JPEG").read_bytes() == one_image(5, SEED, classes=3)[0]
    assert done == [20, 20, 1]
    assert sorted(os.listdir(tmp_path)) == ["one", "two"]


def test_a_finished_folder_is_used_again(tmp_path):
    root = tmp_path / "demo"
    root.mkdir()  # an empty folder counts as none
    make_folder(root, count=2, classes=2, workers=1)
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    make_folder(root, count=2, classes=2, workers=1, on_done=lambda _: pytest.fail("made again"))
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before
    assert json.loads((root / "demo.json").read_text()) == {
        "made_by": "fastload demo",
        "version": 1,
        "count": 2,
        "classes": 2,
        "seed": 0,
    }


def test_another_folder_is_left_alone(tmp_path):
    make_folder(tmp_path / "demo", count=1, classes=1, workers=1)
    made = "{'made_by': 'fastload demo', 'version': 1, 'count': 1, 'classes': 1, 'seed': %d}"
    with pytest.raises(UsageError) as error:
        make_folder(tmp_path / "demo", count=1, classes=1, seed=3, workers=1)
    assert (
        str(error.value)
        == f"{tmp_path}/demo: is another set (got {made % 0}, want {made % 3}); remove it or give "
        "another folder"
    )
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/work.txt").write_text("keep")
    for taken in ("mine", "mine/work.txt"):
        with pytest.raises(UsageError) as error:
            make_folder(tmp_path / taken, count=1, classes=1, workers=1)
        assert (
            str(error.value)
            == f"{tmp_path}/{taken}: is there, but has no readable demo.json; give a folder that "
            "does not exist"
        )
    assert (tmp_path / "mine/work.txt").read_text() == "keep"


def test_a_faster_run_beside_this_one_wins(tmp_path):
    root = tmp_path / "demo"
    make_folder(
        root,
        count=1,
        classes=1,
        workers=1,
        on_done=lambda _: make_folder(root, count=1, classes=1, workers=1),
    )
    assert sorted(tree(root)) == ["class_00/000000.JPEG", "demo.json"]
    assert os.listdir(tmp_path) == ["demo"]


def test_a_failed_run_leaves_nothing(tmp_path):
    def stop(images: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_folder(tmp_path / "demo", count=1, classes=1, workers=1, on_done=stop)
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_a_killed_run_leaves_no_folder_under_the_final_name_and_no_process(tmp_path, run_apart):
    end = "lambda images: os.kill(os.getpid(), signal.SIGKILL)"
    run = run_apart(
        f"make_folder({str(tmp_path / 'demo')!r}, 200, workers=2, on_done={end})",
        FASTLOAD_TEST_MARK=str(tmp_path),
    )
    assert run.returncode == -signal.SIGKILL
    (left,) = os.listdir(tmp_path)
    assert left.startswith("demo.partial-")
    assert until(lambda: running(str(tmp_path)) == [])


def running(mark: str) -> list[str]:
    """Processes, other than zombies, that have `mark` in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (process / "environ").read_bytes():
                found.append(process.name)
        except OSError:  # has ended, or is not ours
            continue
    return found


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            {"count": 0},
            "demo: too few images (got 0, want at least 20, one per class); ask for more",
        ),
        (
            {"count": 19},
            "demo: too few images (got 19, want at least 20, one per class); ask for more",
        ),
        ({"classes": 0}, "demo: too few classes (got 0, want at least 1); ask for more"),
        ({"workers": 0}, "demo: too few workers (got 0, want at least 1); ask for more"),
        (
            {"seed": -1},
            "demo: seed is out of range (got -1, want 0 to 2^64 - 1); give another seed",
        ),
    ],
)
def test_arguments_that_make_no_sense(tmp_path, arguments, text):
    with pytest.raises(UsageError) as error:
        make_folder(tmp_path / "demo", **arguments)
    assert str(error.value) == text
    assert os.listdir(tmp_path) == []


def test_all_wrong_arguments_are_named_at_once(tmp_path):
    with pytest.raises(UsageError) as error:
        make_folder(tmp_path / "demo", count=0, workers=-2)
    assert str(error.value).splitlines() == [
        "demo: too few images (got 0, want at least 20, one per class); ask for more",
        "demo: too few workers (got -2, want at least 1); ask for more",
    ]


def test_a_root_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConversionError) as error:
        make_folder(tmp_path / "file/demo", count=1, classes=1, workers=1)
    assert (
        str(error.value)
        == f"{tmp_path}/file/demo: cannot be written (Not a directory); give a folder that you can "
        "write to"
    )
