"""inspect: what any source holds, and how it is spread."""

import json

import numpy as np
from PIL import Image
from typer.testing import CliRunner

from fastload.cli import build
from fastload.conversion import histograms
from fastload.conversion.inspect import inspect


def run(*arguments):
    return CliRunner().invoke(build(), [str(argument) for argument in arguments])


def test_a_histogram_counts_everything_once():
    values = np.random.default_rng(0).integers(3, 900, 5000)
    values[:20] = 100_000  # far outside: in the last bin
    found = histograms.histogram(values)
    assert sum(found.counts) == 5000
    assert (found.edges[0], len(found.counts)) == (3, 12)
    assert found.edges[-1] <= np.percentile(values, 99)
    counts = [
        int(((values >= low) & (values < high)).sum())
        for low, high in zip(found.edges[:-2], found.edges[1:-1], strict=True)
    ]
    assert list(found.counts[:-1]) == counts
    assert histograms.histogram(np.array([], np.int64)) is None
    assert histograms.histogram(np.array([7, 7, 7])) == histograms.Histogram((7.0, 8.0), (3,))


def test_text_and_picture():
    found = histograms.Histogram((0.0, 10.0, 20.0, 30.0), (0, 80, 20))
    assert histograms.text(found) == [
        ("0", "", "0"),
        ("10", "█" * 40, "80"),
        ("20", "█" * 10, "20"),
    ]
    image = np.asarray(histograms.picture({"width": found, "height": found, "bytes": found}))
    assert image.shape == (400, 640, 3)
    blue = (image == histograms.BLUE).all(axis=2)
    left = blue[:200, :320]
    third = (320 - 2 * histograms.MARGIN) // 3
    columns = [
        left[:, histograms.MARGIN + n * third : histograms.MARGIN + (n + 1) * third - 2]
        .any(axis=1)
        .sum()
        for n in range(3)
    ]
    assert columns[0] == 0
    assert columns[1] > 3 * columns[2] > 0


def test_every_format_tells_the_same(tools, small, tmp_path):
    facts = {"folder": inspect(str(small))}
    for to in ("shards", "webdataset", "parquet"):
        tools.convert_to(small, tmp_path / to, to)
        facts[to] = inspect(str(tmp_path / to))
    for name in (
        "samples",
        "classes",
        "bytes",
        "formats",
        "height",
        "width",
        "size",
        "per_class",
        "smallest_class",
        "histograms",
        "slow",
    ):
        assert (
            len({json.dumps(getattr(each, name), default=vars) for each in facts.values()}) == 1
        ), name
    assert [facts[name].kind for name in ("folder", "shards", "webdataset", "parquet")] == [
        "folder",
        "shards",
        "span",
        "table",
    ]


def test_slow_images_and_extras(tools, tmp_path):
    files = {f"c/{n}.jpg": tools.encode(20, 30, n, progressive=n < 3) for n in range(4)}
    tools.convert_to(tools.write_tree(tmp_path / "in", files), tmp_path / "s", "shards")
    assert (
        inspect(str(tmp_path / "s")).slow
        == inspect(str(tmp_path / "in")).slow
        == {"progressive": 0.75}
    )
    files = {f"images/{n}.jpg": tools.encode(20, 30, n) for n in range(4)} | {
        f"masks/{n}.png": b"m" for n in range(4)
    }
    pairs = tools.write_tree(tmp_path / "pairs", files)
    tools.convert_to(pairs, tmp_path / "p", "shards")
    assert inspect(str(pairs)).with_extras == inspect(str(tmp_path / "p")).with_extras == 4


def test_the_command(small, tmp_path):
    done = run(
        "inspect",
        small,
        "--histograms",
        "--output",
        tmp_path / "h.png",
        "--json",
        tmp_path / "f.json",
    )
    assert done.exit_code == 0, done.output
    assert "█" * 40 in done.stdout
    with Image.open(tmp_path / "h.png") as image:
        assert image.size == (640, 400)
    assert set(json.loads((tmp_path / "f.json").read_text())["histograms"]) == {
        "height, px",
        "width, px",
        "bytes",
        "samples per class",
    }
    text = (
        f"inspect: {tmp_path}/no/h.png: its folder does not exist; make it, or give another "
        "file to --output"
    )
    assert str(run("inspect", small, "--output", tmp_path / "no" / "h.png").exception) == text
