"""Formats of the data side by side: what is measured of them, and the price of disk."""

import math
from dataclasses import replace

import numpy as np
import pytest

import fastload
from fastload import recipes
from fastload.errors import UsageError
from fastload.forecast import compare, document, formats, lines, options, prices
from fastload.forecast import job as planning
from fastload.forecast.options import MONTH, TB, Option
from fastload.sources.layered import sizes_as_loaded
from tests.conftest import encoded, textured
from tests.forecast import made

NAMES = ["as the data are", *(one.name for one in formats.FORMATS)]
HEIGHT, WIDTH = 60, 80


def folder(root, encode):
    for number in range(8):
        path = root / f"class{number % 2}"
        path.mkdir(parents=True, exist_ok=True)
        (path / str(number)).with_suffix(".jpg").write_bytes(encode(number))
    return str(root)


def jpeg(number):
    return encoded(textured(HEIGHT, WIDTH, number), "JPEG")


def compared(data, monkeypatch, backend="native"):
    monkeypatch.setattr(formats, "SECONDS", 0.02)
    recipe = recipes.load("mild")
    asked = planning.Job(recipe, data, step_rate=300.0, workers=1, price=2.0, price_disk=50.0)
    bench = planning.Bench(asked, lambda: None)
    pipeline = bench.pipeline(recipe)
    found = replace(
        made.forecast(), data=data, backend=backend, price=2.0, price_disk=50.0,
        asked=planning.question(bench, recipe, asked.where, pipeline),
    )  # fmt: skip
    return compare.compare("formats", found, bench)


def test_what_lies_on_disk_is_counted(tmp_path, monkeypatch):
    data = folder(tmp_path, jpeg)
    found = compared(data, monkeypatch)
    assert [one.name for one in found.options] == NAMES
    now, seek, layers, pixels = (one.stored for one in found.options)
    files = sum(len(jpeg(number)) for number in range(8))
    assert now == pytest.approx(files)
    assert now < seek < layers
    assert 8 * HEIGHT * WIDTH * 3 <= pixels <= 2 * 8 * HEIGHT * WIDTH * 3  # and its tables
    assert found.options[3].run.read.value.sum() == 0  # no rate of a disk was given
    for one in found.options:
        assert one.disk_cost.value == pytest.approx(one.stored / TB * 50 * one.hours.value / MONTH)
    commands = [one.note.partition("; ")[2] for one in found.options[1:]]
    assert commands == [
        f"fastload index {data}", f"fastload index {data} --layer coefficients",
        f"fastload convert {data} DST.beton --mode raw",
    ]  # fmt: skip


def test_what_a_loader_reads_is_counted(tmp_path, monkeypatch):
    """Of layers their bytes, of pixels all."""
    data = folder(tmp_path / "data", jpeg)
    bench = planning.Bench(planning.Job(recipes.load("mild"), data, step_rate=1.0), lambda: None)
    reader = formats.readers.open_reader(data)
    everything = np.arange(8)
    for one in formats.FORMATS:
        where = str(tmp_path / one.name) + one.suffix
        one.write(reader, where)
        source = fastload.open(where).pipeline.source
        sizes = sizes_as_loaded(source, everything)
        if one.name == "with seek indexes":
            assert sizes.tolist() == reader.sizes.tolist()
        elif one.name == "as pixels":
            assert sizes.tolist() == [HEIGHT * WIDTH * 3] * 8
        else:
            assert (sizes > reader.sizes).all()
            assert (sizes < 3 * reader.sizes).all()
    unknown = sizes_as_loaded(bench.pipeline(recipes.load("mild")).source, everything)
    assert unknown.tolist() == reader.sizes.tolist()


def test_another_engine_reads_none_of_them(tmp_path, monkeypatch):
    found = compared(folder(tmp_path, jpeg), monkeypatch, backend="torch")
    assert [(one.name, one.note) for one in found.options[1:]] == [
        ("in other formats", "needs backend native (got torch)")
    ]


def test_images_that_can_have_no_index_are_told(tmp_path, monkeypatch):
    def png(number):
        return encoded(textured(HEIGHT, WIDTH, number), "PNG")

    found = compared(folder(tmp_path, png), monkeypatch)
    _, seek, layers, pixels = found.options
    assert seek.run is layers.run is None
    assert seek.note == layers.note == "none of the images that were tried can have one"
    assert pixels.stored > 0


def test_who_reads_other_images_is_told(tmp_path, monkeypatch):
    data = folder(tmp_path, jpeg)
    whole = formats.readers.open_reader(data)
    fewer = formats.select.rows(whole, np.arange(7))
    monkeypatch.setattr(formats.readers, "open_reader", lambda _: fewer)
    notes = {one.note for one in compared(data, monkeypatch).options[1:]}
    said = "conversions read 7 images, and loaders 8; convert some yourself, and plan with those"
    assert notes == {f"{data}: {said}"}


def option(hours, stored, price=2.0):
    run = made.forecast().run
    run = replace(run, images=round(run.images * hours * 3600 / run.total.value))
    return Option("it", run, price=price, stored=stored)


def test_the_price_up_to_which_a_format_pays():
    now, larger = option(20, 1e12), option(10, 3e12)
    price = options.pays_below(larger, now)
    priced = [replace(one, price_disk=price) for one in (now, larger)]
    assert priced[0].spent == pytest.approx(priced[1].spent)
    assert [one.disk_cost.value for one in priced] == pytest.approx(
        [1 * price * now.hours.value / MONTH, 3 * price * larger.hours.value / MONTH]
    )
    assert options.pays_below(option(10, 1.5e12), now) == math.inf
    assert options.pays_below(option(30, 3e12), now) is None
    assert options.pays_below(option(10, 3e12, price=None), option(20, 1e12, price=None)) is None
    assert options.pays_below(option(10, None), now) is None


def test_the_report_says_it():
    choices = (
        replace(option(20, 1e12), name="as the data are"), replace(option(10, 3e12), name="larger"),
        replace(option(10, 1e12), name="as large"),
    )  # fmt: skip
    found = replace(made.forecast(options=choices, compared="formats"), price_disk=50.0)
    price = options.pays_below(choices[1], choices[0])
    below = f"while a TB costs less than {lines.words.number(price)} a month"
    assert lines.chosen(found)[-2:] == [
        f"larger: cheaper than as the data are {below}",
        "as large: cheaper than as the data are at any price of disk",
    ]
    assert lines.option_rows(found)[1][3] == "3 TB"
    written = document.document(found)
    assert written["price_per_tb_month"] == 50
    assert [one["pays_below_per_tb_month"] for one in written["options"]] == [None, price, None]
    assert [one["stored_bytes"] for one in written["options"]] == [1e12, 3e12, 1e12]


@pytest.mark.parametrize(("text", "value"), [("80/TB-month", 80), ("0.08/GB-month", 80)])
def test_prices_of_disk(text, value):
    assert prices.per_tb_month(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["80", "80/TB", "0/TB-month", "-1/GB-month", "80/tb-month"])
def test_what_is_no_price_of_disk(text):
    want = (
        f"plan: --price-disk is {text!r}, want a number above 0 per TB-month or GB-month; write "
        "--price-disk 80/TB-month"
    )
    with pytest.raises(UsageError) as error:
        prices.per_tb_month(text)
    assert str(error.value) == want
