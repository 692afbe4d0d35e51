"""filter, split and merge: new indexes over the same shards."""

import os

import numpy as np
import pytest

from fastload.conversion import subset_columns, subsets, verify
from fastload.errors import ConversionError, SourceError, UsageError
from fastload.sources import open_source
from tests.conversion.index_helpers import rows_where


@pytest.fixture
def shards(tools, small, tmp_path):
    tools.convert_to(small, tmp_path / "shards", "shards", shard_bytes=5000)
    return tmp_path / "shards"


def keys(folder):
    index = open_source(folder).index
    return [index.key(row) for row in range(len(index))]


CONDITIONS = {
    "width >= 21": lambda r: r["width"] >= 21,
    "12 <= height < 15": lambda r: 12 <= r["height"] < 15,
    "label == 'cat'": lambda r: r["label"] == 0,
    "label in ('dog', 0)": lambda _: True,
    "label not in [1]": lambda r: r["label"] == 0,
    "class_name == 'dog' or not width > 20": lambda r: r["label"] == 1 or not r["width"] > 20,
    "width / height > 1.6 and size + 1 > 0": lambda r: r["width"] / r["height"] > 1.6,
    "-label < -0.5": lambda r: r["label"] == 1,
    "key in {'cat/1', 'dog/4'}": lambda r: r["key"] in ("cat/1", "dog/4"),
    "startswith(key, 'dog/') and endswith(key, '4')": lambda r: r["key"] == "dog/4",
    "contains(format, '4:2:0') and format != 'png'": lambda _: True,
    "width * height >= 12 * 19 and shard >= 0": lambda r: r["width"] * r["height"] >= 228,
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_conditions_are_pythons(shards, condition):
    index = subsets.open_index(str(shards))
    rows = [
        {
            "key": index.key(n),
            **{
                name: int(index.columns[name].all()[n])
                for name in ("width", "height", "label", "size")
            },
        }
        for n in range(7)
    ]
    assert rows_where(index, condition).tolist() == [
        n for n, row in enumerate(rows) if CONDITIONS[condition](row)
    ]


UNKNOWN = "is not known, want startswith, endswith, contains of (NAME, TEXT); see docs/convert.md"
OTHER_KIND = (
    "is compared with something of another kind, want numbers with numbers and texts "
    "with texts; see docs/convert.md"
)


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        ("__import__('os').system('x')", f"where: __import__('os').system('x') {UNKNOWN}"),
        ("open('x')", f"where: open('x') {UNKNOWN}"),
        ("key.__class__ == 'x'", "where: key.__class__ is not allowed; see docs/convert.md"),
        ("(lambda: 1)() == 1", "where: (lambda: 1)() is not allowed; see docs/convert.md"),
        ("9 ** 9 ** 9 > width", "where: 9 ** 9 ** 9 is not allowed; see docs/convert.md"),
        ("[x for x in key]", "where: [x for x in key] is no condition; see docs/convert.md"),
        ("width", "where: width is no condition; see docs/convert.md"),
        ("1 < 2", "where: 1 names no column; see docs/convert.md"),
        ("depth > 3", ("where: depth is no column (have label, height, width, size, shard, key, "
                      "format, class_name); see docs/convert.md")),
        ("label == 'fox'", "where: 'fox' is no class (have cat, dog); correct the name"),
        ("width == 'x'", f"where: width {OTHER_KIND}"),
        ("key + 1 > 2", "where: key is text, want a number; see docs/convert.md"),
        ("width in 3", "where: 3 is no list, want: NAME in (VALUE, VALUE); see docs/convert.md"),
        ("width is 3", "where: 3 is compared in a way that is not known; see docs/convert.md"),
        ("width > 99999999999999999999", ("where: 99999999999999999999 is no number and no text; "
                                         "see docs/convert.md")),
        ("startswith(width, 'x')", ("where: startswith(width, 'x') takes one of key, format, "
                                   "class_name and a text; see docs/convert.md")),
        ("w" * 10_001, "where: has 10001 characters, want at most 10000; shorten it"),
    ],
)  # fmt: skip
def test_everything_else_is_refused(shards, condition, text):
    with pytest.raises(UsageError) as refused:
        rows_where(subsets.open_index(str(shards)), condition)
    assert str(refused.value) == text


@pytest.mark.parametrize(
    "condition",
    [
        "",
        "width >",
        "width > 1; import os",
        "(" * 5000 + "width" + ")" * 4000,
        "not " * 2400 + "width > 1",
        "\0",
    ],
)
def test_what_is_no_python_is_refused(shards, condition):
    with pytest.raises(UsageError) as refused:
        rows_where(subsets.open_index(str(shards)), condition)
    assert str(refused.value).startswith("where: ")


def test_filter_links_the_shards_and_keeps_the_rest(tools, shards, tmp_path):
    index = subsets.open_index(str(shards))
    rows = rows_where(index, "label == 'dog' and width > 18")
    done = subsets.write(str(tmp_path / "out"), [subset_columns.Part(index, rows)])
    assert keys(tmp_path / "out") == ["dog/2", "dog/4", "dog/6"]
    assert (done.samples, done.classes, done.copied) == (3, 2, 0)
    assert verify.verify(verify.prepare(str(tmp_path / "out")), 1).damages == ()
    source = open_source(tmp_path / "out")
    assert source.labels.tolist() == [1, 1, 1]
    assert source.locate(np.arange(3)).seek is not None
    used = {os.stat(tmp_path / "out" / shard.name).st_ino for shard in source.index.shards}
    assert used < {path.stat().st_ino for path in shards.glob("*.tar")}
    assert tools.samples(tmp_path / "out") == [
        row for row in tools.samples(shards) if row[0] in keys(tmp_path / "out")
    ]
    with pytest.raises(ConversionError) as refused:
        subsets.write(str(tmp_path / "none"), [subset_columns.Part(index, rows[:0])])
    assert str(refused.value) == f"{tmp_path}/none: no sample is left; give other conditions"
    with pytest.raises(ConversionError) as refused:
        subsets.write(str(shards), [subset_columns.Part(index, rows)], overwrite=True)
    assert str(refused.value) == f"{shards}: is the data set itself; give another folder"


def test_split_is_disjoint_whole_and_keeps_the_shares_of_classes(tools, tmp_path):
    root = tools.write_tree(
        tmp_path / "in",
        {f"{'ab'[n % 2]}/{n:02}.png": tools.encode(3, 5, n, format="PNG") for n in range(40)},
    )
    tools.convert_to(root, tmp_path / "s", "shards", shard_bytes=4000)
    index = subsets.open_index(str(tmp_path / "s"))
    train, val = subsets.drawn(index, [0.75, 0.25], seed=1)
    assert sorted([*train.tolist(), *val.tolist()]) == list(range(40))
    labels = index.columns["label"].all()
    assert [np.bincount(labels[rows]).tolist() for rows in (train, val)] == [[15, 15], [5, 5]]
    assert train.tolist() == sorted(train.tolist())
    assert subsets.drawn(index, [0.75, 0.25], seed=2)[1].tolist() != val.tolist()
    parts = [str(tmp_path / name) for name in ("train", "val")]
    for name, rows in zip(parts, (train, val), strict=True):
        subsets.write(name, [subset_columns.Part(index, rows)])
    merged = subsets.write(
        str(tmp_path / "again"),
        [
            subset_columns.Part(each, np.arange(len(each)))
            for each in map(subsets.open_index, parts)
        ],
    )
    assert merged.samples == 40
    assert tools.samples(tmp_path / "again") == tools.samples(root)
    with pytest.raises(UsageError) as refused:
        subsets.drawn(index, [0.9, 0.2], seed=1)
    assert (
        str(refused.value)
        == "split: shares 0.9, 0.2 (want some above 0, 1 in all at most); correct them"
    )


def test_merge_refuses_what_would_be_wrong(tools, small, shards, tmp_path):
    other = tools.write_tree(
        tmp_path / "other", {"cow/1.jpg": tools.encode(9, 15), "dog/9.jpg": tools.encode(9, 15)}
    )
    tools.convert_to(other, tmp_path / "o", "shards")
    one, two = subsets.open_index(str(shards)), subsets.open_index(str(tmp_path / "o"))
    with pytest.raises(ConversionError) as refused:
        subsets.write(
            str(tmp_path / "m"),
            [subset_columns.Part(each, np.arange(len(each))) for each in (one, two)],
        )
    text = (
        "class 0 is 'cow' there and 'cat' in another), and the shards hold their numbers; "
        "convert the sources together"
    )
    assert str(refused.value) == f"{tmp_path}/o: has other classes ({text}"
    with pytest.raises(ConversionError) as refused:
        subsets.write(str(tmp_path / "m"), [subset_columns.Part(one, np.arange(7))] * 2)
    text = (
        "key 'cat/1' is in two of the data sets; convert the sources together, which numbers "
        "such keys"
    )
    assert str(refused.value) == f"{tmp_path}/m: {text}"
    with pytest.raises(SourceError) as wrong:
        subsets.open_index(str(small))
    assert (
        str(wrong.value)
        == f"{small}: is no converted data set (got folder of classes); run fastload convert first"
    )
    assert not (tmp_path / "m").exists()


def test_a_part_that_would_be_empty_is_named_and_nothing_is_written(tools, tmp_path):
    root = tools.write_tree(
        tmp_path / "in", {f"{n}/one.png": tools.encode(3, 5, n, format="PNG") for n in range(6)}
    )
    tools.convert_to(root, tmp_path / "s", "shards")
    index = subsets.open_index(str(tmp_path / "s"))

    def refused(shares, *, by_class):
        chosen = subsets.drawn(index, shares, seed=0, by_class=by_class)
        with pytest.raises(UsageError) as caught:
            subsets.check_filled(index, ["train", "val"], chosen, by_class=by_class)
        return str(caught.value)

    assert refused([0.9, 0.1], by_class=True) == (
        "split: val would be empty (6 samples in 6 classes are too few samples of each class for "
        "these shares); pass --by-sample, or give larger shares"
    )
    assert refused([0.95, 0.01], by_class=False) == (
        "split: val would be empty (6 samples in 6 classes are too few samples for these shares); "
        "give larger shares"
    )
    chosen = subsets.drawn(index, [0.8, 0.2], seed=0, by_class=False)
    subsets.check_filled(index, ["train", "val"], chosen, by_class=False)
