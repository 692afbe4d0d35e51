"""Conversions that have to fit into so many bytes."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fastload.conversion import budget, job, sizing
from fastload.conversion.budget import Way
from fastload.errors import ConversionError, UsageError
from fastload.sources import open_source

from .conftest import write_tree


def textured(height, width, seed):
    """Something between noise and a plain area, as photographs are."""
    rough = np.random.default_rng(seed).integers(0, 256, (height // 8, width // 8, 3), np.uint8)
    return Image.fromarray(rough).resize((width, height), Image.Resampling.BICUBIC)


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """12 JPEGs of quality 98, from 200 to 376 px long."""
    root = tmp_path_factory.mktemp("photos")
    for number in range(12):
        path = root / "in" / "c" / f"{number:02}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        textured(120, 200 + 16 * number, number).save(path, quality=98)
    return root / "in"


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """What is tried, so that it takes little time."""
    monkeypatch.setattr(budget, "QUALITIES", (95, 85, 75))
    monkeypatch.setattr(budget, "SIDES", (352, 320, 288, 256, 224, 192, 160, 128, 96, 64))
    monkeypatch.setattr(budget, "JUDGED", 4)


def prepared(photos, tmp_path, **options):
    return job.prepare(str(photos), str(tmp_path / "out"), job.Options(workers=1, **options))


def size_of(folder):
    return sum(path.stat().st_size for path in Path(folder).iterdir())


def test_a_sum_is_estimated_with_its_range():
    """Of 1,000 sums of 40 out of 400 about 95 % hold the truth; all of all are exact."""
    draw = np.random.default_rng(0)
    before = draw.integers(1000, 9000, 400)
    sizes = (before * draw.uniform(0.4, 0.6, 400)).astype(np.int64)
    held = 0
    for _ in range(1000):
        some = draw.choice(400, 40, replace=False)
        said = sizing.whole(sizes[some], before[some], int(before.sum()), 400)
        held += said.low <= int(sizes.sum()) <= said.high
    assert 930 <= held <= 975
    assert len(set(sizing.whole(sizes, before, int(before.sum()), 400))) == 1
    assert sizing.whole(sizes, before, int(before.sum()), 400).bytes == pytest.approx(sizes.sum())
    assert sizing.whole(sizes[:0], before[:0], 0, 400) == (0, 0, 0)
    one = sizing.whole(sizes[:1], before[:1], int(before.sum()), 400)
    assert (one.low, one.high) == (0, pytest.approx(2 * one.bytes, abs=2))


def test_ways_fit_and_the_best_comes_first(photos, tmp_path):
    ready = prepared(photos, tmp_path)
    found = budget.plan(ready, "40%")
    assert found.budget == int(found.unchanged.bytes * 0.4)
    assert [one.psnr for one in found.ways] == sorted(
        (one.psnr for one in found.ways), reverse=True
    )
    assert len({one.way.quality for one in found.ways}) == len(found.ways) == 3
    held = budget.Held(ready, 5)
    for side, quality in (one.way for one in found.ways):
        longer = [None, *held.sides(Way(None, None))]
        before = longer[longer.index(side) - 1]
        assert side is None or held.tried(Way(before, quality)).high > found.budget
    for one in (found.ways[0], found.ways[-1]):
        edits = job.Options(edits=budget.Held(ready, 5).edits(one.way)).edits
        where = str(tmp_path / f"out{one.way.quality}")
        job.run(job.prepare(str(photos), where, job.Options(workers=1, edits=edits)))
        assert one.of_all.low <= size_of(where) <= one.of_all.high <= found.budget


def test_what_fits_as_it_is_stays(photos, tmp_path):
    found = budget.plan(prepared(photos, tmp_path), "1G")
    assert [one.way for one in found.ways] == [(None, None)]
    assert found.best.psnr == budget.BEST
    assert found.looked_at == 12


def test_what_the_user_gives_is_the_most(photos, tmp_path):
    from fastload.conversion.editing import Edits

    edits = Edits(max_side=256, quality=88)
    found = budget.plan(prepared(photos, tmp_path, edits=edits), "25%")
    assert [one.way.quality for one in found.ways] == [88]
    assert found.best.way.max_side <= 256


def test_what_does_not_fit_is_refused(photos, tmp_path):
    with pytest.raises(ConversionError, match=r"does not fit into 1 KiB \(with a side of 64 px"):
        budget.plan(prepared(photos, tmp_path), "1K")
    for text in ("0%", "101%", "x%", "-5%"):
        with pytest.raises(UsageError, match="is no share"):
            budget.plan(prepared(photos, tmp_path), text)


def test_bad_images_are_left_aside(photos, tmp_path):
    write_tree(tmp_path, {f"in/c/{n}.jpg": b"\xff\xd8 none" for n in range(2)})
    with pytest.raises(ConversionError, match="2 samples are all bad"):
        budget.plan(prepared(tmp_path / "in", tmp_path), "50%")
    write_tree(tmp_path, {"in/c/3.jpg": (photos / "c/03.jpg").read_bytes()})
    assert budget.plan(prepared(tmp_path / "in", tmp_path), "90%").looked_at == 1


@pytest.fixture
def run(command_line):
    return command_line("convert")


def test_the_verb_shows_and_converts_after_a_yes(run, photos, tmp_path):
    out = tmp_path / "out"
    code, said, err = run("convert", photos, out, "--budget", "40%", "--workers", "1")
    assert (code, out.exists()) == (0, False)
    assert said.splitlines()[1].split() == ["--max-side", "--quality", "about", "range", "PSNR"]
    assert f"what this does to pictures: {out}.budget.png" in err
    assert "nothing was converted; --yes converts to the first line" in err
    with Image.open(f"{out}.budget.png") as sheet:
        assert min(sheet.size) > 300
    code, said, _ = run("convert", photos, out, "--budget", "40%", "--json", "-")
    shown = json.loads(said)
    assert (code, shown["converted"], out.exists()) == (0, False, False)
    code, said, _ = run(
        "convert", photos, out, "--budget", "40%", "--yes", "--json", "-", "--workers", "1",
        "--sheet", tmp_path / "sheet.png",
    )  # fmt: skip
    done = json.loads(said)
    assert (code, done["samples"], done["disk_bytes"]) == (0, 12, size_of(out))
    assert done["disk_bytes"] <= shown["budget"]
    assert done["foreseen"]["low"] <= done["disk_bytes"] <= done["foreseen"]["high"]
    assert (tmp_path / "sheet.png").exists()
    side = shown["ways"][0]["max_side"]
    assert side is None or int(open_source(out).index.columns["width"].all().max()) <= side
    code, _, err = run("convert", photos, tmp_path / "b.beton", "--budget", "40%")
    assert (code, "--budget is not for a .beton file" in err) == (2, True)


@pytest.mark.parametrize("option", ["yes", "sheet"])
def test_options_of_a_budget_ask_for_one(run, photos, tmp_path, option):
    more = [f"--{option}"] + [tmp_path / "sheet.png"] * (option == "sheet")
    code, _, err = run("convert", photos, tmp_path / "out", *more)
    assert code == 2
    assert err.strip().endswith(
        f"convert: --{option} is for --budget, which is missing; add --budget SIZE, or leave "
        f"--{option} out"
    )
    assert not (tmp_path / "out").exists()
