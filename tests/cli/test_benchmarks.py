"""The benchmarks: one real run on a few images, and how rows are kept and shown."""

import json

import numpy as np
import pytest
import torch

from fastload import _native as native
from fastload.measure import Sample

row = pytest.importorskip("benchmarks.report.row")  # not in an installed package
table = pytest.importorskip("benchmarks.report.table")
results = pytest.importorskip("benchmarks.pages.results")
dali = pytest.importorskip("benchmarks.loaders.dali")
facts = pytest.importorskip("benchmarks.report.facts")

ROW = row.Row(
    benchmark="loader", variant="fastload", settings={"output": "uint8", "cores": 1},
    reference="PyTorch", page_cache="warm",
    data={"name": "few", "images": 40, "mean_bytes": 1000, "mean_pixels": 2000},
    machine={"cpu": "A CPU", "cores_usable": 2, "memory_gib": 4.0, "gpu": None},
    software={"torch": "2.11.0", "torchvision": "0.26.0", "pillow": {"name": "Pillow",
    "version": "13.0.0", "libjpeg_turbo": "3.2.0"}},
    commit="1a2b3c4d5e6f7a8b", dirty=False, date="2026-01-01", load=0.1,
    **row.measured(Sample((2000.0, 2100.0, 1900.0)), Sample((1000.0, 1000.0, 1000.0))),
)  # fmt: skip


def test_ffcvs_rows_compare_with_ffcv_on_the_same_file_and_cores():
    beside = pytest.importorskip("benchmarks.ffcv.compare")
    settings = beside.Settings(workers=(1, 2))
    specs = list(beside.specs(settings, {}, ()))
    found = {
        beside.key(spec): Sample((float(place),) * 2) for place, spec in enumerate(specs, start=1)
    }
    assert len(found) == settings.turns // (settings.repetitions + 1) == 24
    common = {
        name: getattr(ROW, name)
        for name in ("data", "machine", "software", "commit", "dirty", "date", "load")
    }
    rows = beside.rows(settings, found, common)
    assert [made.settings["file"] for made in rows[::6]] == ["jpg", "jpg", "raw", "raw"]
    assert [made.reference for made in rows[6:12]] == [None, *["FFCV"] * 5]
    assert [made.ratio for made in rows[6:12]] == [
        None,
        *[pytest.approx(place / 7) for place in range(8, 13)],
    ]
    # Each against its own loader without the policy
    costs = [made.also.get("times_the_time_without_policy") for made in rows[6:12]]
    assert costs == [
        None,
        *[cost and pytest.approx(cost) for cost in (7 / 8, None, 9 / 10, None, 11 / 12)],
    ]
    assert rows[0].settings.keys() >= {
        "file",
        "cores",
        "workers",
        "batch_size",
        "size",
        "passes",
        "output",
        "policy",
        "order",
    }


def test_rows_of_storage_compare_on_the_same_storage_and_cores():
    storage = pytest.importorskip("benchmarks.loaders.storage")
    settings = storage.Settings(workers=(1, 2))
    specs = list(storage.specs(settings, "", "", ()))
    found = {
        storage.key(spec): Sample((float(place),) * 2) for place, spec in enumerate(specs, start=1)
    }
    assert len(found) == settings.turns // (settings.repetitions + 1) == 18
    common = {
        name: getattr(ROW, name)
        for name in ("data", "machine", "software", "commit", "dirty", "date", "load")
    }
    rows = storage.rows(settings, found, common)
    assert [made.settings["storage"] for made in rows[::6]] == ["warm", "cold", "slow"]
    assert [made.ratio for made in rows[15:18]] == [
        None,
        pytest.approx(17 / 16),
        pytest.approx(18 / 16),
    ]


def test_what_is_dropped_from_the_page_cache_is_still_there(tmp_path):
    storage = pytest.importorskip("benchmarks.loaders.storage")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_bytes(bytes(9000))
    assert storage.cold(lambda: 3.0, str(tmp_path))() == 3.0
    assert (tmp_path / "a" / "file").read_bytes() == bytes(9000)


@pytest.mark.long
def test_the_bucket_benchmark_compares_with_buckets_by_hand(command, folder, tmp_path):
    pytest.importorskip("torchvision")
    given = ["--data", folder, "--workers", "1", "--sides", "64", "--repetitions", "1"]
    done = command("-m", "benchmarks", "buckets", *given, "--json", "--results", str(tmp_path))
    assert done.returncode == 0, done.stderr
    by_hand, ours = (json.loads(line) for line in done.stdout.splitlines())
    assert (by_hand["ratio"], by_hand["settings"]["side"]) == (None, 64)
    assert ours["reference"] == by_hand["variant"]
    assert ours["median"] > 0
    assert (tmp_path / "buckets.jsonl").exists()


@pytest.mark.long
def test_the_loader_benchmark_measures_all_variants(command, folder, tmp_path):
    pytest.importorskip("torchvision")
    pytest.importorskip("pyarrow")
    arguments = [
        "loader",
        "--data",
        folder,
        "--name",
        "few",
        "--workers",
        "1",
        "--outputs",
        "uint8",
        "--repetitions",
        "1",
    ]
    done = command("-m", "benchmarks", *arguments, "--json", "--results", str(tmp_path))
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    ours = ["fastload, folder", "fastload, folder, 2nd epoch on", "fastload, shards"]
    assert [r["variant"] for r in rows] == [
        "PyTorch DataLoader",
        *(["DALI, CPU"] if facts.dali_version() else []),
        *ours,
    ]
    assert (f"benchmarks: {dali.MISSING}\n" in done.stderr) == (facts.dali_version() is None)
    assert all(r["median"] > 0 and r["data"]["images"] == 40 for r in rows)
    assert [r["ratio"] is None for r in rows] == [True, *[False] * (len(rows) - 1)]
    assert [r["values"] for r in rows] == [[r["median"]] for r in rows]
    assert [
        json.loads(line) for line in (tmp_path / "loader.jsonl").read_text().splitlines()
    ] == rows


def test_the_augment_benchmark_compares_like_with_like(folder):
    pytest.importorskip("torchvision")
    augment = pytest.importorskip("benchmarks.augmentation.augment")
    photos = augment.take(folder)
    for name in augment.MAGNITUDES:
        want = np.asarray(augment.theirs(name)(photos.images[0]))
        np.testing.assert_array_equal(
            native.augment(photos.arrays[0], augment.programs(name)[0]), want, err_msg=name
        )
    for step in dict(augment.cases(photos))["RandAugment(num_ops=1)"].values():
        assert step() == len(photos.arrays)


@pytest.mark.long
def test_the_dropin_benchmark_compares_both_classes(folder, monkeypatch):
    pytest.importorskip("torchvision")
    dropin = pytest.importorskip("benchmarks.loaders.dropin")
    for name, value in (("ENTRIES", 100), ("SECONDS", 0.0), ("CALLS", 10)):
        monkeypatch.setattr(dropin, name, value)
    settings, done = dropin.Settings(workers=1, batch_size=4, size=8, repetitions=1), []
    rows = dropin.run(folder, "few", settings, lambda: done.append(1))
    assert len(done) == dropin.turns(settings) == 24
    assert {name: [r.variant for r in part] for name, part in row.tables(rows).items()} == {
        "": ["PyTorch DataLoader", "fastload"] * 10,
        "start": ["PyTorch DataLoader", "fastload"] * 2,
        "look": ["fastload"] * 4,
        "stats": ["fastload"],
    }  # fmt: skip
    assert all(r.median > 0 for r in rows)
    assert [sorted(r.also) for r in (rows[23], rows[-1])] == [
        ["first_batch_ms", "later_epoch_ms"],
        ["microseconds_per_batch", "percent"],
    ]
    assert [r.ratio is None for r in rows] == [True, False] * 12 + [True] * 5
    assert {r.unit for r in rows[24:28]} == {"ms"}


@pytest.mark.filterwarnings("ignore::fastload.FallbackWarning")
def test_the_gains_are_of_every_kind_of_pipeline(folder, monkeypatch):
    gains = pytest.importorskip("benchmarks.loaders.gains")
    monkeypatch.setattr(gains, "SECONDS", 0.0)
    names = ("PyTorch ImageNet example, train", gains.OF_PILLOW, "CIFAR, cutout", "VAR")
    settings, done = gains.Settings(workers=1, images=6, repetitions=1, names=names), []
    chosen = gains.measurable(settings)
    assert sorted(pipeline.name for pipeline in chosen) == sorted(names)
    rows = list(gains.run(folder, "few", settings, lambda: done.append(1)))
    assert len(done) == gains.turns(settings) == 8
    assert [(r.settings["pipeline"], r.variant) for r in rows] == [
        (pipeline.name, kind) for pipeline in chosen for kind in gains.CLASSES
    ]
    assert all(r.median > 0 for r in rows)
    assert [r.ratio is None for r in rows] == [True, False] * 4


def test_a_sampler_of_gains_gives_all_samples_once_and_then_some_at_random():
    gains = pytest.importorskip("benchmarks.loaders.gains")
    sampler = gains.Some(5, 8)
    epochs = [list(sampler) for _ in range(3)]
    assert epochs[0] == [0, 1, 2, 3, 4]
    assert [len(epoch) for epoch in epochs[1:]] == [8, 8]
    assert epochs[1] != epochs[2]
    assert {*epochs[1], *epochs[2]} <= set(range(5))


def test_the_gpu_benchmark_of_augment_has_programs_for_all_that_it_names():
    pytest.importorskip("torchvision")
    device = pytest.importorskip("benchmarks.gpu.augment")
    planes = torch.zeros((2, 3, 9, 11), dtype=torch.uint8)
    for name in device.on_cpu.MAGNITUDES:
        program = device.program_of_op(name)
        assert (
            len(native.DevicePrograms(native.Programs(program), device.SIDE, device.SIDE))
            == device.COUNT
        )
        assert [len(step()) for step in device._theirs_of_op(name, planes).values()] == [2, 2]
    for name, arguments in device.POLICIES:
        program = device.drawer(getattr(device.T, name)(**arguments))()
        assert (
            len(native.DevicePrograms(native.Programs(program), device.SIDE, device.SIDE))
            == device.COUNT
        )
        assert list(device._theirs_of_policy(name, arguments, planes)) == [device.SINGLE]
    for code, arguments in device.BLURS.values():
        native.DevicePrograms(
            native.Programs(device.repeated(code, *arguments)), device.SIDE, device.SIDE
        )


def test_the_gpu_benchmark_of_decoding_sends_only_what_is_under_the_crops():
    device = pytest.importorskip("benchmarks.gpu.decode")
    batch = [device.one_image(n, seed=0)[0] for n in range(3)]
    sizes = np.array([native.probe(jpeg)[1:3] for jpeg in batch], np.int32)
    sent = {
        name: device.packed(batch, device.draw(ops, sizes))[1].numel()
        for name, ops in device.CROPS.items()
    }
    whole = sum(map(len, batch))
    assert sent[device.RANDOM] < 0.9 * whole < sent[device.WHOLE] < 1.4 * whole


@pytest.mark.long
def test_more_workers_than_cores_are_refused(command, folder):
    done = command("-m", "benchmarks", "loader", "--data", folder, "--workers", "10000")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("benchmarks: workers: 10000 (want 1 to ")


def test_conversions_compare_with_what_does_the_same_work():
    beside = pytest.importorskip("benchmarks.conversion.convert")
    found = {
        variant: Sample((float(place),) * 2)
        for place, variant in enumerate((*beside.REFERENCE, beside.COPY, beside.FFCV), start=1)
    }
    common = {
        name: getattr(ROW, name)
        for name in ("data", "machine", "software", "commit", "dirty", "date", "load")
    }
    rows = {made.variant: made for made in beside.rows(beside.Settings(), found, common)}
    assert {name: made.reference for name, made in rows.items()} == {
        **beside.REFERENCE,
        beside.COPY: None,
        beside.FFCV: None,
    }
    assert rows[beside.SHARDS].ratio == pytest.approx(1 / 7)
    assert rows[beside.PLAIN].ratio == pytest.approx(3 / 6)
    (index,) = beside.index_rows({"memory of opening, MiB": 7.0}, common)
    assert (index.median, index.unit) == (7.0, "MiB")


def test_a_conversion_is_measured_on_many_names_of_few_images(tmp_path):
    beside = pytest.importorskip("benchmarks.conversion.convert")
    for name in ("a/x.jpg", "a/y.jpg", "b/x.png"):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_text(name)
    assert beside.lay_out(str(tmp_path / "in"), str(tmp_path / "out"), 7) == 9
    found = sorted(path for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert [str(path.relative_to(tmp_path / "out")) for path in found[:3]] == [
        "a/x_0.jpg",
        "a/x_1.jpg",
        "a/x_2.jpg",
    ]
    assert len({path.stat().st_ino for path in found}) == 3
    assert {path.read_text() for path in found} == {"a/x.jpg", "a/y.jpg", "b/x.png"}
