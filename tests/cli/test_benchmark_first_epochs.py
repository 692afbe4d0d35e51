"""Peers' first epochs: who has them, over which images, and that nothing is kept from one to the
next.
"""

import os
from pathlib import Path

import numpy as np
from PIL import Image

from tests.cli.test_benchmark_peers import catalogue, child, cli, data


def test_tables_of_new_folders_have_rows_of_who_reads_folders():
    """What collects has them where all is new each time; elsewhere only its first epoch would."""
    for table, more in (("first", ["fastload", "collecting"]), ("growth", ["fastload"])):
        got = [peer.name for peer in catalogue.PEERS if cli.suits(peer, table)]
        assert got == ["torch", "pillow_simd", "tensors", "opencv", "timm", "dali", "spdl", *more]
    (collecting,) = catalogue.chosen(["collecting"])
    assert [name for name in cli.TABLES if cli.suits(collecting, name)] == ["first"]


def test_each_epoch_is_a_new_loaders_and_nothing_is_kept(monkeypatch, tmp_path):
    """What lies in the user's own cache stays."""
    own, made = tmp_path / "own", []
    own.write_bytes(b"")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def make(spec):
        made.append(Path(os.environ["XDG_CACHE_HOME"]))
        assert list(made[-1].iterdir()) == []
        (made[-1] / "kept").write_bytes(b"")
        return lambda: iter([spec, len(made)])

    epoch = child.Anew(make, {"peer": "it"})
    for number in (1, 2):
        epoch.forget()
        assert list(epoch()) == [{"peer": "it"}, number]
    epoch.cache.cleanup()
    assert [folder.exists() for folder in made] == [False, False]
    assert own.exists()


def pixels_of(path):
    with Image.open(path) as image:
        return np.asarray(image)


def test_copies_are_the_same_pixels_of_other_bytes(tmp_path):
    rng = np.random.default_rng(0)
    (tmp_path / "data" / "a").mkdir(parents=True)
    paths = [tmp_path / "data" / "a" / name for name in ("x.jpg", "y.JPEG", "z.png")]
    for path in paths:
        Image.fromarray(rng.integers(0, 256, (20, 31, 3), np.uint8)).save(path)
    samples = data.fastload.open(data.copies(str(tmp_path / "data"), tmp_path / "out", 3)).samples
    made = [Path(path) for path, _ in samples]
    assert len({path.read_bytes() for path in made}) == len(made) == 9
    for path in paths:
        for number in range(3):
            copy = tmp_path / "out" / "0000" / f"{path.stem}_{number}{path.suffix}"
            np.testing.assert_array_equal(pixels_of(copy), pixels_of(path))
