"""The benchmarks: one real run on a few images, and how rows are kept and shown."""

import dataclasses
import json

import numpy as np
import pytest
import torch

from fastload import _native as native
from fastload.errors import UsageError
from fastload.measure import Sample

row = pytest.importorskip("benchmarks.row")  # not in an installed package
table = pytest.importorskip("benchmarks.table")
dali = pytest.importorskip("benchmarks.dali")

ROW = row.Row(
    benchmark="loader", variant="fastload", settings={"output": "uint8", "cores": 1}, reference="PyTorch", page_cache="warm",
    data={"name": "few", "images": 40, "mean_bytes": 1000, "mean_pixels": 2000},
    machine={"cpu": "A CPU", "cores_usable": 2, "memory_gib": 4.0, "gpu": None},
    software={"torch": "2.11.0", "torchvision": "0.26.0", "pillow": {"name": "Pillow", "version": "13.0.0", "libjpeg_turbo": "3.2.0"}},
    commit="1a2b3c4d5e6f7a8b", dirty=False, date="2026-01-01", load=0.1,
    **row.measured(Sample((2000.0, 2100.0, 1900.0)), Sample((1000.0, 1000.0, 1000.0))),
)  # fmt: skip


def test_ffcvs_rows_compare_with_ffcv_on_the_same_file_and_cores():
    beside = pytest.importorskip("benchmarks.ffcv")
    settings = beside.Settings(workers=(1, 2))
    specs = list(beside.specs(settings, {}, ()))
    found = {beside.key(spec): Sample((float(place),) * 2) for place, spec in enumerate(specs, start=1)}
    assert len(found) == settings.turns // (settings.repetitions + 1) == 24
    common = {name: getattr(ROW, name) for name in ("data", "machine", "software", "commit", "dirty", "date", "load")}
    rows = beside.rows(settings, found, common)
    assert [made.settings["file"] for made in rows[::6]] == ["jpg", "jpg", "raw", "raw"]
    assert [made.reference for made in rows[6:12]] == [None, *["FFCV"] * 5]
    assert [made.ratio for made in rows[6:12]] == [None, *[pytest.approx(place / 7) for place in range(8, 13)]]
    costs = [made.also.get("times_the_time_without_policy") for made in rows[6:12]]  # each against its own loader without the policy
    assert costs == [None, *[cost and pytest.approx(cost) for cost in (7 / 8, None, 9 / 10, None, 11 / 12)]]
    assert rows[0].settings.keys() >= {"file", "cores", "workers", "batch_size", "size", "passes", "output", "policy", "order"}


def test_rows_of_storage_compare_on_the_same_storage_and_cores():
    storage = pytest.importorskip("benchmarks.storage")
    settings = storage.Settings(workers=(1, 2))
    specs = list(storage.specs(settings, "", "", ()))
    found = {storage.key(spec): Sample((float(place),) * 2) for place, spec in enumerate(specs, start=1)}
    assert len(found) == settings.turns // (settings.repetitions + 1) == 18
    common = {name: getattr(ROW, name) for name in ("data", "machine", "software", "commit", "dirty", "date", "load")}
    rows = storage.rows(settings, found, common)
    assert [made.settings["storage"] for made in rows[::6]] == ["warm", "cold", "slow"]
    assert [made.ratio for made in rows[15:18]] == [None, pytest.approx(17 / 16), pytest.approx(18 / 16)]


def test_what_is_dropped_from_the_page_cache_is_still_there(tmp_path):
    storage = pytest.importorskip("benchmarks.storage")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_bytes(bytes(9000))
    assert storage.cold(lambda: 3.0, str(tmp_path))() == 3.0
    assert (tmp_path / "a" / "file").read_bytes() == bytes(9000)


def test_the_loader_benchmark_measures_all_variants(command, folder, tmp_path):
    pytest.importorskip("torchvision")
    pytest.importorskip("pyarrow")
    arguments = ["loader", "--data", folder, "--name", "few", "--workers", "1", "--outputs", "uint8", "--repetitions", "1"]
    done = command("-m", "benchmarks", *arguments, "--json", "--results", str(tmp_path))
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    ours = ["fastload, folder", "fastload, folder, 2nd epoch on", "fastload, shards"]
    assert [r["variant"] for r in rows] == ["PyTorch DataLoader", *(["DALI, CPU"] if dali.version() else []), *ours]
    assert (f"benchmarks: {dali.MISSING}\n" in done.stderr) == (dali.version() is None)
    assert all(r["median"] > 0 and r["data"]["images"] == 40 for r in rows)
    assert [r["ratio"] is None for r in rows] == [True, *[False] * (len(rows) - 1)]
    assert [r["values"] for r in rows] == [[r["median"]] for r in rows]
    assert [json.loads(line) for line in (tmp_path / "loader.jsonl").read_text().splitlines()] == rows


def test_the_augment_benchmark_compares_like_with_like(folder):
    pytest.importorskip("torchvision")
    augment = pytest.importorskip("benchmarks.augment")
    photos = augment.take(folder)
    for name in augment.MAGNITUDES:
        want = np.asarray(augment.theirs(name)(photos.images[0]))
        np.testing.assert_array_equal(native.augment(photos.arrays[0], augment.programs(name)[0]), want, err_msg=name)
    for step in dict(augment.cases(photos))["RandAugment(num_ops=1)"].values():
        assert step() == len(photos.arrays)


def test_the_dropin_benchmark_compares_both_classes(folder, monkeypatch):
    pytest.importorskip("torchvision")
    dropin = pytest.importorskip("benchmarks.dropin")
    for name, value in (("ENTRIES", 100), ("SECONDS", 0.0), ("CALLS", 10)):
        monkeypatch.setattr(dropin, name, value)
    settings, done = dropin.Settings(workers=1, batch_size=4, size=8, repetitions=1), []
    rows = dropin.run(folder, "few", settings, lambda: done.append(1))
    assert len(done) == dropin.turns(settings) == 12
    assert {name: [r.variant for r in part] for name, part in row.tables(rows).items()} == {
        "": ["PyTorch DataLoader", "fastload"] * 4, "start": ["PyTorch DataLoader", "fastload"] * 2, "look": ["fastload"] * 4,
        "stats": ["fastload"],
    }  # fmt: skip
    assert all(r.median > 0 for r in rows)
    assert [sorted(r.also) for r in (rows[11], rows[-1])] == [["first_batch_ms", "later_epoch_ms"], ["microseconds_per_batch", "percent"]]
    assert [r.ratio is None for r in rows] == [True, False] * 6 + [True] * 5
    assert {r.unit for r in rows[12:16]} == {"ms"}


def test_the_gpu_benchmark_of_augment_has_programs_for_all_that_it_names():
    pytest.importorskip("torchvision")
    device = pytest.importorskip("benchmarks.device_augment")
    planes = torch.zeros((2, 3, 9, 11), dtype=torch.uint8)
    for name in device.on_cpu.MAGNITUDES:
        program = device.program_of_op(name)
        assert len(native.DevicePrograms(native.Programs(program), device.SIDE, device.SIDE)) == device.COUNT
        assert [len(step()) for step in device._theirs_of_op(name, planes).values()] == [2, 2]
    for name, arguments in device.POLICIES:
        program = device.drawer(getattr(device.T, name)(**arguments))()
        assert len(native.DevicePrograms(native.Programs(program), device.SIDE, device.SIDE)) == device.COUNT
        assert list(device._theirs_of_policy(name, arguments, planes)) == [device.SINGLE]
    for code, arguments in device.BLURS.values():
        native.DevicePrograms(native.Programs(device.repeated(code, *arguments)), device.SIDE, device.SIDE)


def test_the_gpu_benchmark_of_decoding_sends_only_what_is_under_the_crops():
    device = pytest.importorskip("benchmarks.device_decode")
    batch = [device.one_image(n, seed=0)[0] for n in range(3)]
    sizes = np.array([native.probe(jpeg)[1:3] for jpeg in batch], np.int32)
    sent = {name: device.packed(batch, device.draw(ops, sizes))[1].numel() for name, ops in device.CROPS.items()}
    whole = sum(map(len, batch))
    assert sent[device.RANDOM] < 0.9 * whole < sent[device.WHOLE] < 1.4 * whole


def test_more_workers_than_cores_are_refused(command, folder):
    done = command("-m", "benchmarks", "loader", "--data", folder, "--workers", "10000")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("benchmarks: workers: 10000 (want 1 to ")


def test_a_row_replaces_its_own_of_the_same_commit_and_machine_only(tmp_path):
    path = tmp_path / "loader.jsonl"
    other_commit, other_variant = dataclasses.replace(ROW, commit="older"), dataclasses.replace(ROW, variant="PyTorch")
    other_data = dataclasses.replace(ROW, data={**ROW.data, "name": "others"})
    again = dataclasses.replace(ROW, median=3000.0, dirty=True)
    row.save(path, [other_commit, other_data, other_variant, ROW])
    row.save(path, [again])
    assert row.read(path) == [other_commit, other_data, other_variant, again]
    assert row.latest(row.read(path)) == [other_variant, again]
    of_no_data = dataclasses.replace(ROW, variant="kernels alone", data={})
    row.save(path, [of_no_data])
    assert row.latest(row.read(path)) == [other_variant, again, of_no_data]


def test_a_line_that_is_no_row_is_named(tmp_path):
    path = tmp_path / "loader.jsonl"
    path.write_text(row.line(ROW) + "\n{}\n")
    with pytest.raises(UsageError, match=r"loader\.jsonl, line 2: is no benchmark row"):
        row.read(path)


def test_the_table_goes_between_its_markers_and_stays(tmp_path):
    row.save(tmp_path / "loader.jsonl", [dataclasses.replace(ROW, variant="PyTorch", ratio=None), ROW])
    text = "before\n<!-- benchmarks: loader -->\nold\n<!-- /benchmarks -->\nafter\n"
    readme = tmp_path / "README.md"
    readme.write_text(text)
    assert table.update(readme, tmp_path, check=True)
    assert readme.read_text() == text
    assert table.update(readme, tmp_path)
    assert not table.update(readme, tmp_path, check=True)
    assert "| fastload | 2,000 | 1,900 to 2,100 | 2.00 (1.90 to 2.10) |" in readme.read_text()
    assert "commit 1a2b3c4d5e6f, 2026-01-01." in readme.read_text()


def test_a_marker_takes_the_rows_of_one_setting(tmp_path):
    rows = [dataclasses.replace(ROW, variant=way, settings={"pipeline": way, "cores": 1}) for way in ("crop", "crop, flip")]
    row.save(tmp_path / "loader.jsonl", rows)
    page = tmp_path / "README.md"
    page.write_text("<!-- benchmarks: loader (pipeline: crop, flip) -->\n<!-- /benchmarks -->\n")
    assert table.update(page, tmp_path)
    assert page.read_text().splitlines()[3] == "| crop, flip | 2,000 | 1,900 to 2,100 | 2.00 (1.90 to 2.10) |"
    assert not table.update(page, tmp_path, check=True)
    page.write_text("<!-- benchmarks: loader (pipeline: turn) -->\n<!-- /benchmarks -->\n")
    with pytest.raises(UsageError, match=r"^table: loader has no row whose pipeline is 'turn'; mend the marker$"):
        table.update(page, tmp_path)


def test_a_further_table_has_a_marker_of_its_own(tmp_path):
    plain = dataclasses.replace(ROW, ratio=None, ratio_low=None, ratio_high=None)
    stage = dataclasses.replace(plain, variant="entropy", settings={"table": "stages", "cores": 1}, also={"own_microseconds": 280.4})
    row.save(tmp_path / "loader.jsonl", [ROW, stage])
    readme = tmp_path / "README.md"
    readme.write_text("<!-- benchmarks: loader stages -->\n<!-- /benchmarks -->\n<!-- benchmarks: loader -->\n<!-- /benchmarks -->\n")
    assert table.update(readme, tmp_path)
    first, second = readme.read_text().split("<!-- benchmarks: loader -->\n")
    assert first.splitlines()[1:4] == [
        "| variant | images/s | lowest to highest | own microseconds |",  # nothing is compared, so there is no ratio
        "| --- | ---: | ---: | ---: |",
        "| entropy | 2,000 | 1,900 to 2,100 | 280 |",
    ]
    assert "; cores 1; page cache warm;" in first
    assert second.splitlines()[2] == "| fastload | 2,000 | 1,900 to 2,100 | 2.00 (1.90 to 2.10) |"
    assert "entropy" not in second
    assert table.every([ROW, stage]) == table.markdown([ROW]) + "\nstages:\n\n" + table.markdown([stage])


@pytest.mark.parametrize(
    ("marker", "text"),
    [
        ("loader cores", "table: loader has no table cores (want one of: stages); mend the marker"),
        ("decode", "table: decode has no rows; run `python -m benchmarks decode` first"),
    ],
)
def test_a_marker_without_rows_is_refused_and_nothing_is_written(tmp_path, marker, text):
    stage = dataclasses.replace(ROW, settings={"table": "stages"})
    row.save(tmp_path / "loader.jsonl", [ROW, stage])
    readme = tmp_path / "README.md"
    readme.write_text(f"<!-- benchmarks: loader -->\n<!-- /benchmarks -->\n<!-- benchmarks: {marker} -->\n<!-- /benchmarks -->\n")
    before = readme.read_text()
    with pytest.raises(UsageError) as error:
        table.update(readme, tmp_path)
    assert str(error.value) == text
    assert readme.read_text() == before


def test_a_plot_of_many_variants_has_a_name_and_a_ratio_for_each(command, tmp_path):
    pytest.importorskip("matplotlib")
    many = [dataclasses.replace(ROW, variant=f"variant {number}", ratio=1.5 + number) for number in range(6)]
    stage = dataclasses.replace(ROW, variant="a stage", settings={"table": "stages"})
    row.save(tmp_path / "loader.jsonl", [*many, stage])
    done = command("-m", "benchmarks", "plot", "--results", str(tmp_path))
    assert done.returncode == 0, done.stderr
    drawn = (tmp_path / "loader.svg").read_text()
    assert all(f"variant {number}<" in drawn and f"2,000  ×{1.5 + number:.2f}<" in drawn for number in range(6))
    assert "a stage" not in drawn  # only the main table is drawn


def test_a_gpus_plot_is_of_its_loaders(command, tmp_path):
    pytest.importorskip("matplotlib")
    tables = ("rates", "train_resnet50_hot", "decode")
    made = [dataclasses.replace(ROW, benchmark="gpu", variant=f"in {name}", settings={"table": name}) for name in tables]
    gpu = {**ROW.machine, "gpu": "Fake 9000"}
    row.save(tmp_path / "gpu.jsonl", [dataclasses.replace(one, machine=gpu) for one in made])
    done = command("-m", "benchmarks", "plot", "--results", str(tmp_path))
    assert done.returncode == 0, done.stderr
    drawn = (tmp_path / "gpu.svg").read_text()
    assert [name in drawn for name in ("in rates", "in train_resnet50_hot", "in decode", "Fake 9000")] == [True, True, False, True]


def test_a_plot_is_a_png_and_an_svg(command, tmp_path):
    pytest.importorskip("matplotlib")
    row.save(tmp_path / "loader.jsonl", [ROW])
    done = command("-m", "benchmarks", "plot", "--results", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "loader.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "loader.svg").read_text()


def test_conversions_compare_with_what_does_the_same_work():
    beside = pytest.importorskip("benchmarks.convert")
    found = {variant: Sample((float(place),) * 2) for place, variant in enumerate((*beside.REFERENCE, beside.COPY, beside.FFCV), start=1)}
    common = {name: getattr(ROW, name) for name in ("data", "machine", "software", "commit", "dirty", "date", "load")}
    rows = {made.variant: made for made in beside.rows(beside.Settings(), found, common)}
    assert {name: made.reference for name, made in rows.items()} == {**beside.REFERENCE, beside.COPY: None, beside.FFCV: None}
    assert rows[beside.SHARDS].ratio == pytest.approx(1 / 7)
    assert rows[beside.PLAIN].ratio == pytest.approx(3 / 6)
    (index,) = beside.index_rows({"memory of opening, MiB": 7.0}, common)
    assert (index.median, index.unit) == (7.0, "MiB")


def test_a_conversion_is_measured_on_many_names_of_few_images(tmp_path):
    beside = pytest.importorskip("benchmarks.convert")
    for name in ("a/x.jpg", "a/y.jpg", "b/x.png"):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_text(name)
    assert beside.lay_out(str(tmp_path / "in"), str(tmp_path / "out"), 7) == 9
    found = sorted(path for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert [str(path.relative_to(tmp_path / "out")) for path in found[:3]] == ["a/x_0.jpg", "a/x_1.jpg", "a/x_2.jpg"]
    assert len({path.stat().st_ino for path in found}) == 3
    assert {path.read_text() for path in found} == {"a/x.jpg", "a/y.jpg", "b/x.png"}
