"""Declared types of what lies beside images: arrays, numbers, JSON; every format, and mixes."""

import pickle

import pytest
import torch
from torch.utils.data import ConcatDataset, Subset

import fastload
from fastload import transforms as T
from fastload.errors import PipelineError, SampleError, SourceError
from fastload.parity.run import Setting, measure
from tests.loader.declared_helpers import (
    COUNT,
    FORMATS,
    MEANS,
    PATH,
    SCORE,
    VEC,
    beton,
    image,
    mds,
    parquet,
    path,
    tars,
    tfrecord,
    vector,
)  # fmt: skip
from tests.loader.target_helpers import loader, refused

OPS = [T.RandomResizedCrop((20, 28)), T.ToImage()]


def check(batch, declared, numbers):
    for name, kind in declared.items():
        want = torch.tensor([list(MEANS[kind](n)) if kind != SCORE else n / 4 for n in numbers])
        dtype = {VEC: torch.float32, PATH: torch.int64, SCORE: torch.float64}[kind]
        assert batch[name].dtype == dtype
        assert batch[name].tolist() == want.tolist()


@pytest.mark.parametrize(
    "form",
    [pytest.param(form, marks=() if form == "tars" else pytest.mark.long) for form in FORMATS],
)
def test_every_format(tmp_path, form):
    make, declared = FORMATS[form]
    data = fastload.open(make(tmp_path / "data"), OPS, target=declared)
    data = pickle.loads(pickle.dumps(data))
    one = loader(data)
    assert "backend native" in one.explain()
    numbers = list(one.sampler)
    one.sampler.set_epoch(0)
    at = 0
    for _, values in one:
        count = len(values[next(iter(declared))])
        check(values, declared, numbers[at : at + count])
        at += count
    assert at == COUNT
    single = data[5][1]
    check({name: value[None] for name, value in single.items()}, declared, [5])


@pytest.mark.long
def test_without_a_declaration(tmp_path):
    """Arrays whose type is known are tensors; lists are as JSON has them."""
    data = fastload.open(mds(tmp_path / "m"), OPS, target=("vec", "own", "digits"))
    _, values = next(iter(loader(data, 3, shuffle=False)))
    assert values["vec"].tolist() == [vector(n).tolist() for n in range(3)]
    assert [one.tolist() for one in values["own"]] == [vector(n).tolist() for n in range(3)]
    assert values["digits"].tolist() == [0.0, 0.25, 0.5]
    for make in (tfrecord, parquet):
        data = fastload.open(make(tmp_path / make.__name__), OPS, target=("vec", "path"))
        assert data[2][1] == {"vec": vector(2).tolist(), "path": path(2)}
    where = data.pipeline.source.where
    data = fastload.open(where, OPS, target=("deep", "gaps"))
    assert data[2][1] == {"deep": [path(2)], "gaps": [2, None]}
    data = fastload.open(beton(tmp_path / "b"), OPS, target=("note", "path", "second", "label"))
    assert data[3][1] == {"note": b"note 3", "path": path(3), "second": image(3), "label": 3}


def test_parts_that_store_it_in_different_ways(tmp_path):
    """Tars have NumPy's files, MDS plain bytes, TFRecords lists, Parquet a column in memory."""
    made = {
        tars(tmp_path / "t"): {"vec.npy": VEC, "label": "int"},
        mds(tmp_path / "m"): {"vec": VEC, "label": "int"},
        tfrecord(tmp_path / "f"): {"vec": VEC, "label": "int"},
        parquet(tmp_path / "p"): {"fixed": VEC, "label": "int"},
    }
    data = fastload.mix(dict.fromkeys(made, 1), OPS, target=made, by="epochs")
    found = [row for _, batch in loader(data, 8) for row in batch["vec.npy"]]
    want = sorted(vector(n).tolist() for n in range(COUNT))
    assert sorted(row.tolist() for row in found) == sorted(want * len(made))
    some = Subset(data, [2 * COUNT + 4, 1, 3 * COUNT + 2, COUNT])
    _, values = next(iter(loader(some, 4, shuffle=False)))
    assert values["vec.npy"].tolist() == [vector(n).tolist() for n in (4, 1, 2, 0)]


def test_types_for_all_parts(tmp_path):
    parts = {tars(tmp_path / "a"): 1, tars(tmp_path / "b"): 1}
    data = fastload.mix(parts, OPS, target={"path.json": PATH}, by="epochs")
    assert "  target  path.json int64[3], in place of labels" in loader(data).explain()
    rows = [row.tolist() for _, batch in loader(data) for row in batch["path.json"]]
    assert sorted(rows) == sorted(2 * [path(n) for n in range(COUNT)])
    plain, typed = ("path.json",), {"path.json": PATH}
    with pytest.raises(PipelineError, match="has another target than"):
        fastload.mix(parts, OPS, target=dict(zip(parts, (plain, typed), strict=True)))


def test_kinds_that_differ_want_a_type(tmp_path):
    names = {tars(tmp_path / "t"): ("raw",), mds(tmp_path / "m"): ("vec",)}
    data = fastload.mix(dict.fromkeys(names, 1), OPS, target=names)
    with pytest.raises(PipelineError) as error:
        loader(data)
    assert str(error.value) == (
        "target (raw): raw is not there in all parts, or of several kinds; mix parts that have the "
        "same, or declare types: target={name: type}"
    )


def test_types_that_do_not_fit(tmp_path):
    where = mds(tmp_path / "m")
    assert refused(where, {"score": "int", "vec": "float32[2]", "label": "text"}) == (
        f"{where}: 'label' is of type text, want int\n"
        f"{where}: 'score' holds float64, and int is declared; declare another type\n"
        f"{where}: 'vec' holds float32[3], and float32[2] is declared; declare another type"
    )
    assert "'vec' is of type 'float32'" in refused(where, {"vec": "float32"})
    with pytest.raises(SourceError, match=r"target is \{\}, want a name"):
        fastload.open(where, OPS, target={})


def bad_tars(root):
    return fastload.open(tars(root, bad={3, 8}), OPS, target={"vec.npy": VEC, "label": "int"})


def test_bad_bytes_are_errors_of_their_sample(tmp_path):
    data, errors, found = bad_tars(tmp_path / "t"), [], 0
    one = loader(data, 2, shuffle=False)
    batches = iter(one)
    while True:
        try:
            _, values = next(batches)
            found += len(values["label"])
        except SampleError as error:
            errors.append(str(error))
        except StopIteration:
            break
    assert found == COUNT - 3  # the batches of 2 and 3, and of 8
    where = f"{tmp_path}/t/0.tar"
    for number, text in zip((3, 8), errors, strict=True):
        assert text.startswith(
            f"{where}:00{number}.jpg, vec.npy, sample {number}: is no float32[3] ("
        )
        assert text.endswith("); restore it")
        assert "\n" not in text
    assert one.stats()["bad_samples"] == 2


def test_bad_bytes_cost_their_sample_only(tmp_path):
    data = bad_tars(tmp_path / "t")
    listed, options = tmp_path / "bad.jsonl", {"shuffle": False}
    one = loader(data, on_error="skip", max_bad=2, bad_samples=str(listed), **options)
    with pytest.warns(fastload.BadSamplesWarning):
        rows = [row.tolist() for _, batch in one for row in batch["vec.npy"]]
    good = [n for n in range(COUNT) if n not in (3, 8)]
    assert rows == [vector(n).tolist() for n in good]
    assert listed.read_text().count("is no float32[3]") == 2
    one = loader(data, on_error="substitute", max_bad=2, seed=4, **options)
    with pytest.warns(fastload.BadSamplesWarning):
        batches = [(images, values) for images, values in one]
    assert [len(images) for images, _ in batches] == [4, 4, 1]
    for _, values in batches:
        for row, label in zip(values["vec.npy"], values["label"].tolist(), strict=True):
            assert int(row[0]) % 4 == label
            assert int(row[0]) in good


@pytest.mark.long
def test_substitutes_are_those_of_the_reference(tmp_path):
    data, seen = bad_tars(tmp_path / "t"), []
    for backend in ("native", "torch"):
        one = loader(data, on_error="substitute", max_bad=2, backend=backend, num_workers=0)
        with pytest.warns(fastload.BadSamplesWarning):
            seen.append([(images.clone(), values["vec.npy"]) for images, values in one])
    for mine, theirs in zip(*seen, strict=True):
        assert torch.equal(mine[0], theirs[0])
        assert torch.equal(mine[1], theirs[1])


@pytest.mark.long
def test_joined_sets(tmp_path):
    one = fastload.open(tars(tmp_path / "t"), OPS, target={"raw": VEC})
    both = loader(ConcatDataset([one, Subset(one, [4, 2])]), COUNT + 2, shuffle=False)
    _, values = next(iter(both))
    assert values["raw"].tolist() == [vector(n).tolist() for n in [*range(COUNT), 4, 2]]


def test_several_images(tmp_path):
    data = fastload.open(tars(tmp_path / "t"), OPS, target=("control.png", "label"))
    assert data[4][1] == {"control.png": b"png 4", "label": 0}


@pytest.mark.long
def test_parity_compares_them(tmp_path):
    data = fastload.open(tars(tmp_path / "t"), OPS, target={"vec.npy": VEC, "path.json": "json"})
    report = measure(data, Setting(images=6, batch_size=3), names=["native"], whole=True)
    assert [cell.verdict for _, cells in report.rows for cell in cells] == ["bit-equal"]
