"""The guides' blocks run and print what their pages say. Every block of a user page runs in some
test or says beside itself why not.
"""

import io
import re
import struct
import tarfile
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.conftest import TREE
from tests.docs.test_tutorial import environment
from tests.docs.walk import Walker, steps
from tests.loader import detection_files
from tests.sources import litdata_files, lmdb_files, parquet_files, tfrecord_files
from tests.unit import mds_files

DOCS = TREE / "docs"
# Guides of formats that are opened in place
FORMATS = [
    DOCS / "migrate" / f"{name}.md"
    for name in ("webdataset", "energon", "streaming", "litdata", "tfrecord", "lmdb", "parquet")
]
GUIDES = sorted((DOCS / "guides").glob("*.md"))
RUNNING = [
    page
    for page in (
        *GUIDES,
        DOCS / "custom-ops.md",
        DOCS / "mixing.md",
        DOCS / "profiler.md",
        DOCS / "recipes.md",
        DOCS / "views.md",
        DOCS / "errors.md",
        DOCS / "progressive.md",
        DOCS / "buckets.md",
        DOCS / "token-batches.md",
        DOCS / "images.md",
        DOCS / "metrics.md",
        *FORMATS,
    )
    if any(not step.mark for step in steps(page.read_text()))
]
# Pages whose blocks another test runs: test_readme.py, test_guides.py, test_tutorial.py,
# test_how_it_works.py, and test_extending.py compares with a package that is installed and used.
ELSEWHERE = {
    "README.md", "tutorial.md", "extending.md", "extending-ops.md", "how-decoding-works.md",
    "how-randomness-works.md",
}  # fmt: skip
PAGES = [
    TREE / "README.md",
    *sorted(DOCS.glob("*.md")),
    *GUIDES,
    *FORMATS,
]


@pytest.fixture
def here(folder: Path, tmp_path: Path) -> Path:
    """A folder with photo.jpg, data, tars, captions, pairs/images, pairs/masks, voc, mds/train and
    its like.
    """
    Image.effect_mandelbrot((400, 300), (-2, -1, 1, 1), 50).convert("RGB").save(
        tmp_path / "photo.jpg"
    )
    (tmp_path / "data").mkdir()
    for name in ("train", "val"):
        (tmp_path / "data" / name).symlink_to(folder)
    for kind, mode in (("images", "jpg"), ("masks", "png")):
        (tmp_path / "pairs" / kind).mkdir(parents=True)
        for number in range(4):
            shape = (150, 170, 3) if kind == "images" else (150, 170)
            pixels = np.full(shape, number, np.uint8)
            Image.fromarray(pixels).save(tmp_path / "pairs" / kind / f"{number}.{mode}")
    _tar(folder, tmp_path / "tars" / "train-000000.tar", {"cls": "{}"})
    beside = {
        "txt": "A picture of class {}.",
        "json": '{{"similarity": 0.25}}',
        "path.json": "[0, {}]",
    }
    _tar(folder, tmp_path / "captions" / "00000.tar", beside)
    detection_files.write_voc(tmp_path / "voc")
    detection_files.write_yolo(tmp_path / "yolo")
    write_formats(tmp_path, sorted(Path(folder).rglob("*.jpg")))
    return tmp_path


def write_formats(where: Path, paths: list[Path]) -> None:
    """The images in mds/train, litdata/train, tfrecord/train, lmdb/train and parquet."""
    samples = [(path.read_bytes(), int(path.parent.name[-1])) for path in paths]
    columns = (("image", "jpeg", None), ("label", "uint8", 1))
    (where / "mds").mkdir()
    shard = mds_files.shard([(image, bytes([label])) for image, label in samples], columns)
    listed = mds_files.described("shard.00000.mds", len(samples), columns)
    mds_files.write(where / "mds" / "train", {"shard.00000.mds": shard}, [listed])
    items = [litdata_files.item((image, struct.pack("<q", label))) for image, label in samples]
    name = "chunk-0-0.bin"
    listed = litdata_files.described(name, len(items))
    chunk = litdata_files.chunk(items)
    litdata_files.write(where / "litdata" / "train", {name: chunk}, [listed])
    examples = [
        tfrecord_files.example({"image/encoded": image, "image/class/label": label})
        for image, label in samples
    ]
    tfrecord_files.write(where / "tfrecord" / "train" / "train-00000-of-00001", examples)
    pairs = dict[bytes, bytes]()
    for number, (image, label) in enumerate(samples):
        pairs |= {b"image-%09d" % number: image, b"label-%09d" % number: b"%d" % label}
    lmdb_files.write(where / "lmdb" / "train", pairs)
    table = parquet_files.table(*(list(column) for column in zip(*samples, strict=True)))
    parquet_files.write(where / "parquet" / "train-00000-of-00001.parquet", table)


def _tar(folder: Path, out: Path, beside: dict[str, str]) -> None:
    """The folder's images with files beside them, which say their class."""
    out.parent.mkdir()
    with tarfile.open(out, "w") as tar:
        for path in sorted(Path(folder).rglob("*.jpg")):
            tar.add(path, path.name)
            for suffix, text in beside.items():
                data = text.format(path.parent.name[-1]).encode()
                member = tarfile.TarInfo(f"{path.stem}.{suffix}")
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))


@pytest.mark.long
@pytest.mark.parametrize("page", RUNNING, ids=lambda page: page.stem)
def test_a_guide_prints_what_it_says(page: Path, here: Path) -> None:
    with closing(Walker(here, environment(here))) as walker:
        for step in steps(page.read_text()):
            if step.mark in {None, "file"}:
                walker.run(step)


def test_every_guide_is_in_the_index() -> None:
    index = (DOCS / "guides" / "README.md").read_text()
    assert [page.name for page in GUIDES if f"({page.name})" not in index] == ["README.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(TREE)))
def test_python_stands_between_fences(page: Path) -> None:
    """Indented it would be no step, and nothing would run it."""
    prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    assert (
        re.findall(r"^    (?:from \S+ import .*|import .*|\w+ = fastload\..*)$", prose, re.M) == []
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(TREE)))
def test_every_block_runs_or_says_why_not(page: Path) -> None:
    text = page.read_text()
    fences = len(re.findall(r"^```(?:python|sh)$", text, re.MULTILINE))
    found = steps(text)
    assert len(found) == fences
    if page not in RUNNING and page.name not in ELSEWHERE:
        assert [step.line for step in found if step.mark is None] == []
    assert all(step.reason for step in found if step.mark)
