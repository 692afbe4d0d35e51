"""The training check: a short real one that broken pipelines fail, what its images show, and its
arithmetic.
"""

import dataclasses
import json
import math

import numpy as np
import pytest
import torch
from PIL import Image

from fastload.errors import BackendError, UsageError

pytest.importorskip("torchvision")
row = pytest.importorskip("benchmarks.report.row")  # not in an installed package
table = pytest.importorskip("benchmarks.report.table")
train = pytest.importorskip("benchmarks.training.train")
images = pytest.importorskip("benchmarks.training.images")

# Points of accuracy: more than two trainings of the same pipeline differ, less than any breakage
# costs
MARGIN = 10.0
SHORT = ("--seeds", "1", "--epochs", "12", "--train-images", "1000", "--test-images", "1000")
COMMON = {
    "data": {}, "commit": "1a2b3c4d5e6f7a8b", "dirty": False, "date": "2026-01-01", "load": 0.1,
    "machine": {"cpu": "A CPU", "cores_usable": 2, "memory_gib": 4.0, "gpu": None},
    "software": {"torch": "2.11.0", "torchvision": "0.26.0", "pillow": {"name": "Pillow",
    "version": "13.0.0", "libjpeg_turbo": "3.2.0"}},
}  # fmt: skip


def as_good(accuracy: float, reference: float) -> bool:
    return accuracy > reference - MARGIN


@pytest.mark.long
def test_fastload_trains_as_well_as_torchvision_and_every_broken_pipeline_is_noticed(
    command, tmp_path
):
    done = command("-m", "benchmarks", "train", *SHORT, "--json", "--results", str(tmp_path))
    assert done.returncode == 0, done.stderr
    rows = {r["variant"]: r for r in map(json.loads, done.stdout.splitlines())}
    assert (tmp_path / "train.jsonl").read_text() == done.stdout
    found = {key: rows.pop(pipeline.name)["median"] for key, pipeline in train.PIPELINES.items()}
    assert not rows
    reference = found["torchvision"]
    assert 50 < reference < 95, found  # chance is 10
    assert as_good(found["fastload"], reference), found
    assert as_good(reference, found["fastload"]), found
    assert not [key for key in train.BROKEN if as_good(found[key], reference)], found
    assert {"torchvision", "fastload", *train.BROKEN} == set(train.PIPELINES)


def test_differences_are_paired_by_seed():
    # Differ by 2, 3, 1, 4, 0
    found = train.paired([13.0, 25.0, 34.0, 48.0, 55.0], [11.0, 22.0, 33.0, 44.0, 55.0])
    assert found.value == pytest.approx(2.0)
    half = 2.776 * math.sqrt(2.5) / math.sqrt(5)
    assert (found.low, found.high) == pytest.approx((2 - half, 2 + half))


def test_students_constants_enclose_95_percent():
    for freedom, limit in train.STUDENT.items():
        t = np.linspace(-limit, limit, 200_001)
        scale = math.gamma((freedom + 1) / 2) / (
            math.sqrt(freedom * math.pi) * math.gamma(freedom / 2)
        )
        assert np.trapezoid(
            scale * (1 + t * t / freedom) ** (-(freedom + 1) / 2), t
        ) == pytest.approx(0.95, abs=1e-4)


def test_rows_hold_every_seed_and_the_differences():
    values = {key: [80.0, 82.0] for key in train.PIPELINES} | {"fastload": [81.0, 82.0]}
    rows = train.rows(train.Settings(seeds=2), values, COMMON)
    assert [r.values for r in rows] == list(values.values())
    assert rows[0].also == {}
    assert rows[1].also["difference_in_points"] == 0.5
    lines = table.markdown(rows).splitlines()
    assert lines[0] == "| variant | accuracy, % | lowest to highest | difference in points |"
    assert lines[3] == "| fastload | 81.5 | 81 to 82 | 0.5 (-5.85 to 6.85) |"
    assert (
        "; seeds 0 to 1, epochs 24, batch size 32, size 32, test images 5000, test size 40; 2 "
        "paired seeds, medians;" in lines[-1]
    )
    assert "page cache" not in lines[-1]
    # No spread, no interval
    assert (
        train.rows(train.Settings(seeds=1), {key: [80.0] for key in train.PIPELINES}, COMMON)[
            1
        ].also
        == {}
    )


@pytest.mark.long
def test_a_plot_has_a_point_for_every_seed(command, tmp_path):
    pytest.importorskip("matplotlib")
    values = {key: [70.0 + n, 80.0, 85.0] for n, key in enumerate(train.PIPELINES)}
    row.save(tmp_path / "train.jsonl", train.rows(train.Settings(seeds=3), values, COMMON))
    done = command("-m", "benchmarks", "plot", "train", "--results", str(tmp_path))
    assert done.returncode == 0, done.stderr
    drawn = (tmp_path / "train.svg").read_text()
    assert all(f"{pipeline.name}<" in drawn for pipeline in train.PIPELINES.values())
    assert "accuracy, %, one point per seed<" in drawn
    points = drawn.count("<use ", drawn.index("PathCollection_1"))
    assert points == 3 * len(train.PIPELINES)


def test_settings_name_every_problem():
    with pytest.raises(UsageError) as error:
        train.Settings(seeds=11, epochs=0, train_images=40, test_images=3).check()
    assert str(error.value).splitlines() == [
        "seeds: 11 (want 1 to 10); choose another",
        "epochs: 0 (want 1 to 1000); choose another",
        "train_images: 40 (want 64 to 1000000); choose another",
        "test_images: 3 (want 10 to 1000000); choose another",
    ]


def test_orders_that_differ_end_the_run(monkeypatch):
    digests = iter("aaaab")
    monkeypatch.setattr(train, "learn", lambda *_: (torch.nn.Flatten(), next(digests)))
    with pytest.raises(BackendError) as error:
        train.run(train.Settings(seeds=1, train_images=64, test_images=10))
    assert str(error.value) == "train: 2 orders of samples (want 1, one per seed); report this"


def test_damages_do_what_they_say():
    batch, labels = torch.arange(12.0).reshape(2, 3, 1, 2), torch.tensor([4, 7])
    damaged = {key: train.PIPELINES[key].damage(batch, labels) for key in train.PIPELINES}
    assert all(
        torch.equal(damaged[key][0], batch)
        for key in ("torchvision", "fastload", "labels", "crops")
    )
    assert {
        key: found[1].tolist() for key, found in damaged.items() if found[1].tolist() != [4, 7]
    } == {"labels": [7, 4]}
    assert damaged["channels"][0][1, :, 0, 0].tolist() == [10, 8, 6]
    whole, centred = (
        [type(op).__name__ for op in train.recipe(centred).transforms] for centred in (False, True)
    )
    assert whole == [
        "RandomResizedCrop",
        "RandomHorizontalFlip",
        "RandAugment",
        "ToTensor",
        "Normalize",
    ]
    assert centred == ["Resize", "CenterCrop", *whole[1:]]


def test_images_are_of_their_class_and_never_square(tmp_path):
    dataset = images.make_folder(tmp_path, 20, images.TEST)
    assert sorted(dataset.targets) == sorted(list(range(10)) * 2)
    again = images.make_folder(tmp_path / "again", 20, images.TEST)
    other = images.make_folder(tmp_path / "other", 20, dataclasses.replace(images.TEST, seed=5))
    for (path, label), (same, _), (unlike, _) in zip(
        dataset.samples, again.samples, other.samples, strict=True
    ):
        with open(path, "rb") as first, open(same, "rb") as second, open(unlike, "rb") as third:
            content = first.read()
            assert content == second.read() != third.read()
        assert dataset.classes[label] in images.CLASSES
        with Image.open(path) as image:
            assert image.width != image.height
            assert min(image.size) >= 56


@pytest.mark.parametrize("shape", images.SHAPES)
def test_a_shape_looks_the_same_in_a_mirror_but_triangles_not_upside_down(shape):
    upright = dataclasses.replace(images.TRAIN, tilt=(0.0, 0.0))
    for number in range(5):
        found = (
            images.mask(
                shape, 61, 90, upright, np.random.Generator(np.random.Philox(key=(3, number)))
            )
            > 0
        )
        rows, columns = np.flatnonzero(found.any(1)), np.flatnonzero(found.any(0))
        shown = found[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
        sideways, upside_down = (
            np.mean(shown != flipped) for flipped in (shown[:, ::-1], shown[::-1])
        )
        assert sideways < 0.12
        assert (upside_down > 0.3) == shape.startswith("triangle")


def test_hues_differ_by_red_and_blue():
    for number in range(20):
        rng = np.random.Generator(np.random.Philox(key=(4, number)))
        red, _, blue = images.texture(5, 7, images.HUES["warm"], images.TEST, rng).mean((0, 1))
        assert red > 1.5 * blue
        red, _, blue = images.texture(5, 7, images.HUES["cold"], images.TEST, rng).mean((0, 1))
        assert blue > 1.5 * red
