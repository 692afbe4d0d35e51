"""A data set of a few shards, the servers that have it, and what loaders give of it."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import fastload
from fastload.remote import layout
from fastload.transforms import RandomResizedCrop, ToImage
from tests.remote import s3
from tests.remote.kill_release import converted
from tests.remote.s3 import Bucket
from tests.remote.web import Web, serving

IMAGES, GROUP = 60, 24 << 10  # images of the data set; bytes of a group, so that there are many
PIECE, CACHE = 2 << 10, 24 << 10  # bytes, for data that come in parts: none fits the cache
OPS = [RandomResizedCrop((24, 31)), ToImage()]


@pytest.fixture(scope="session")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """60 images in 5 shards or more, with sidecars."""
    root = tmp_path_factory.mktemp("shards")
    converted(root)
    return root / "shards"


@pytest.fixture
def images(shards: Path) -> str:
    """The folder of the images of `shards`."""
    return str(shards.parent / "images")


@pytest.fixture
def prefix(request: pytest.FixtureRequest) -> str:
    """A prefix of the bucket for this test only."""
    return f"{request.node.name.replace('[', '-').rstrip(']')}/some set"


@pytest.fixture(autouse=True)
def needs_obstore() -> None:
    pytest.importorskip("obstore", reason="obstore is not installed (pip install obstore)")


@pytest.fixture(autouse=True)
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "GROUP", GROUP)


@pytest.fixture
def web(shards: Path) -> Iterator[Web]:
    with serving(shards.parent) as server:
        yield server


@pytest.fixture(scope="session")
def endpoint() -> Iterator[str]:
    """Of an S3 server: it takes seconds to begin."""
    with s3.answering() as address:
        yield address


@pytest.fixture(scope="module")
def bucket(endpoint: str) -> Bucket:
    """Each file of tests begins with an empty one."""
    return s3.emptied(endpoint)


@pytest.fixture
def pieces(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, bucket: Bucket) -> None:
    """Small ones, of data in the bucket that come in parts."""
    monkeypatch.setattr(layout, "PIECE", PIECE)
    monkeypatch.setattr(layout, "GROUP", 4 * PIECE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    for name, value in bucket.environment().items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def stored(bucket: Bucket, prefix: str) -> Callable[[str | Path], str]:
    """Copies a local data set, and says the URL that opens it."""

    def put_all(where: str | Path) -> str:
        folder = Path(where) if Path(where).is_dir() else Path(where).parent
        for file in folder.iterdir():
            bucket.put(f"{prefix}/{file.name}", file.read_bytes())
        end = "" if folder == Path(where) else f"/{Path(where).name}"
        return f"s3://{bucket.name}/{prefix}{end}"

    return put_all


@pytest.fixture
def opened(tmp_path: Path) -> Callable[..., "fastload.Dataset"]:
    def of(url: str, ops: object = OPS, **options: object) -> "fastload.Dataset":
        return fastload.open(
            url, ops, **({"cache": tmp_path / "disk", "cache_bytes": CACHE} | options)
        )

    return of


def batches(
    data: "fastload.Dataset", workers: int = 2, **options: object
) -> list[tuple[list[int], bytes]]:
    """Labels and pixels of an epoch, by batches."""
    options = {"batch_size": 7, "seed": 3, "shuffle": True} | options
    loader = fastload.DataLoader(data, num_workers=workers, **options)
    return [(labels.tolist(), images.numpy().tobytes()) for images, labels in loader]


def descriptors() -> int:
    """Without sockets: connections are kept, and the server of the tests has their other ends."""
    links = []
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):
            links.append(os.readlink(f"/proc/self/fd/{number}"))
    return sum(not link.startswith("socket:") for link in links)
