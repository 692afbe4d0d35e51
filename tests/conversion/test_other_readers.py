"""Other programs read what fastload writes."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest


def test_other_programs_read_what_is_written(tools, small, tmp_path):
    rows = tools.samples(small)
    tools.convert_to(small, tmp_path / "wds", "webdataset", shard_bytes=5000)
    listed = subprocess.run(
        ["tar", "tf", tmp_path / "wds" / "shard-000000.tar"],
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    assert listed.splitlines()[:2] == ["cat/1.jpg", "cat/1.cls"]
    assert json.loads((tmp_path / "wds" / "classes.json").read_text()) == ["cat", "dog"]
    tools.convert_to(small, tmp_path / "folder", "folder")
    from torchvision.datasets import ImageFolder

    data = ImageFolder(tmp_path / "folder")
    assert (data.classes, [Path(path).read_bytes() for path, _ in data.samples]) == (
        ["cat", "dog"],
        [d for _, d, _ in rows],
    )
    pandas = pytest.importorskip("pandas", reason="a reader of the index")
    tools.convert_to(small, tmp_path / "shards", "shards", shard_bytes=5000)
    frame = pandas.read_feather(tmp_path / "shards" / "index.arrow")
    assert frame["key"].tolist() == [key for key, *_ in rows]
    assert frame["size"].tolist() == [len(data) for _, data, _ in rows]


def test_datasets_reads_our_parquet(tools, small, tmp_path):
    datasets = pytest.importorskip("datasets", reason="the reader that the files are for")
    tools.convert_to(small, tmp_path / "out", "parquet", shard_bytes=4000, shuffle=3)
    assert sorted(os.listdir(tmp_path / "out"))[0].startswith("train-00000-of-0000")
    data = datasets.load_dataset(
        str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"), split="train"
    )
    assert data.features["label"].names == ["cat", "dog"]
    raw = data.cast_column("image", datasets.Image(decode=False))
    found = sorted(
        (row["key"], row["image"]["bytes"], data.features["label"].int2str(row["label"]))
        for row in raw
    )
    assert found == tools.samples(small)
    assert np.asarray(data[0]["image"]).ndim == 3


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # webdataset leaves files open
def test_webdataset_and_torch_read_our_shards(tools, small, tmp_path):
    wds = pytest.importorskip("webdataset", reason="the reader that the files are for")
    torch = pytest.importorskip("torch")
    for to in ("shards", "webdataset"):
        tools.convert_to(small, tmp_path / to, to, shard_bytes=5000)
        names = sorted(map(str, (tmp_path / to).glob("*.tar")))
        data = wds.WebDataset(names, shardshuffle=False).to_tuple("__key__", "jpg", "cls")
        loaded = [
            (key, image, ("cat", "dog")[int(label)])
            for key, image, label in torch.utils.data.DataLoader(data, batch_size=None)
        ]
        assert loaded == tools.samples(small)


def test_duckdb_reads_the_index(tools, small, tmp_path):
    duckdb = pytest.importorskip("duckdb", reason="a reader of the index")
    import pyarrow as pa

    tools.convert_to(small, tmp_path / "out", "shards")
    with pa.memory_map(str(tmp_path / "out" / "index.arrow")) as file:
        index = pa.ipc.open_file(file).read_all()
        assert duckdb.sql(
            "select label, count(*) from index group by label order by label"
        ).fetchall() == [(0, 3), (1, 4)]
        assert index.num_rows == 7
