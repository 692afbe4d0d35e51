"""Tables of URLs straight to shards."""

import hashlib
from pathlib import Path

import pytest

import fastload
from fastload.conversion.web.options import Columns
from tests.conversion.conftest import contents, encode
from tests.conversion.web_helpers import fetched, parquet, said, samples
from tests.conversion.web_server import Server, says, serving

pytest.importorskip("aiohttp", reason="aiohttp is not installed (pip install aiohttp)")
IMAGES = [encode(13 + n, 17, n) for n in range(12)]


@pytest.fixture
def server():
    with serving({f"/{n}.jpg": says(image) for n, image in enumerate(IMAGES)}) as one:
        yield one


def table(folder: Path, server: Server, **more: list[object]) -> Path:
    urls = [server.url(f"/{n}.jpg") for n in range(len(IMAGES))]
    return parquet(folder / "urls.parquet", url=urls, **more)


def test_images_captions_and_columns_come_in_the_order_of_the_rows(tmp_path: Path, server: Server):
    captions = [f"picture {n}" for n in range(12)]
    source = table(tmp_path, server, caption=captions, score=[n / 4 for n in range(12)])
    done = fetched(source, tmp_path / "out", Columns(fields=("score",)), rows=5)
    assert (done.conversion.samples, done.conversion.shards, done.failed) == (12, 3, {})
    found = samples(tmp_path / "out")
    assert list(found) == [f"{n:09d}" for n in range(12)]
    for n, sample in enumerate(found.values()):
        assert sample["jpg"] == IMAGES[n]
        assert sample["txt"].decode() == f"picture {n}"
        assert said(sample) == {
            "key": f"{n:09d}", "url": server.url(f"/{n}.jpg"), "caption": f"picture {n}",
            "sha256": hashlib.sha256(IMAGES[n]).hexdigest(), "height": 13 + n, "width": 17,
            "score": n / 4,
        }  # fmt: skip
    opened = fastload.open(str(tmp_path / "out"), target="txt")
    assert len(opened) == 12
    assert server.agents == {next(iter(server.agents))}
    assert "fastload/" in next(iter(server.agents))
    assert not (tmp_path / "out.failed.parquet").exists()


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl"])
def test_other_tables_give_the_same(tmp_path: Path, server: Server, kind: str):
    fetched(table(tmp_path, server, caption=[f"{n}" for n in range(12)]), tmp_path / "a")
    mark = "\t" if kind == "tsv" else ","
    lines = [f"url{mark}caption", *(f"{server.url(f'/{n}.jpg')}{mark}{n}" for n in range(12))]
    if kind == "jsonl":
        lines = [f'{{"url": "{server.url(f"/{n}.jpg")}", "caption": "{n}"}}' for n in range(12)]
    (tmp_path / f"urls.{kind}").write_text("\n".join(lines) + "\n")
    fetched(tmp_path / f"urls.{kind}", tmp_path / "b")
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_one_and_eight_threads_give_the_same_bytes(tmp_path: Path, server: Server):
    source = table(tmp_path, server)
    fetched(source, tmp_path / "one", workers=1, rows=2, connections=1)
    fetched(source, tmp_path / "eight", workers=8, rows=2)
    assert contents(tmp_path / "one") == contents(tmp_path / "eight")
