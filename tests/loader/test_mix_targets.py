"""fastload.mix of parts that call the same things by other names."""

import json
import pickle

import pytest

import fastload
from fastload.errors import PipelineError, UsageError
from tests.conftest import encoded, textured
from tests.loader.resume_helpers import check_every_step
from tests.loader.target_helpers import COUNT, OPS, caption, loader, write
from tests.unit import mds_files

OWN = 6
COLUMNS = (("image", "bytes", None), ("caption", "str", None), ("facts", "json", None))


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Tars with txt and json, and MDS shards with caption and facts."""
    root = tmp_path_factory.mktemp("mixed")
    samples = [
        (encoded(textured(40, 60, 90 + n)), f"own {n}".encode(), json.dumps([n]).encode())
        for n in range(OWN)
    ]
    shard = mds_files.shard(samples, COLUMNS)
    listed = [mds_files.described("0.mds", OWN, COLUMNS)]
    mds = mds_files.write(root / "mds", {"0.mds": shard}, listed)
    return write(root / "tars"), str(mds)


def mixed(parts, target, **named):
    return fastload.mix(dict.fromkeys(parts, 1), OPS, target=target, by="epochs", **named)


ALL = sorted([*map(caption, range(COUNT)), *(f"own {n}" for n in range(OWN))])


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_one_field_of_two_names(parts, backend):
    data = mixed(parts, dict(zip(parts, ("txt", "caption"), strict=True)))
    texts = [text for _, batch in loader(data, 8, backend=backend) for text in batch]
    assert sorted(texts) == ALL
    assert data[COUNT + 2][1] == "own 2"
    assert pickle.loads(pickle.dumps(data))[COUNT + 3][1] == "own 3"


def test_several_fields_have_the_first_parts_names(parts):
    names = ("txt", "label", "json"), ("caption", "label", "facts")
    data = mixed(parts, dict(zip(parts, names, strict=True)))
    (_, values), *_ = loader(data, len(data))
    assert list(values) == ["txt", "label", "json"]
    assert sorted(values["txt"]) == ALL
    for text, said in zip(values["txt"], values["json"], strict=True):
        want = [int(text[4:])] if text.startswith("own") else text
        assert (said if isinstance(said, list) else said["caption"]) == want
    other = mixed(parts[::-1], dict(zip(parts, names, strict=True)))
    assert list(other[0][1]) == ["caption", "label", "facts"]


def test_open_parts_have_their_own(parts):
    open_parts = [
        (fastload.open(path, OPS, target=name), 1)
        for path, name in zip(parts, ("txt", "caption"), strict=True)
    ]
    with pytest.raises(PipelineError) as refused:
        fastload.mix(open_parts)
    assert str(refused.value) == (
        "mix: part 1 has another target than part 0; give all the same, or target={part: name, …}"
    )
    data = fastload.mix(open_parts, target={}, by="epochs")
    assert sorted(text for _, batch in loader(data, 5) for text in batch) == ALL


def test_resumes_at_every_step(parts):
    target = dict(zip(parts, ("txt", "caption"), strict=True))
    assert check_every_step(lambda: loader(mixed(parts, target))) > 0


@pytest.mark.parametrize(
    "names",
    [
        ("txt", ("caption",)),
        (("txt", "json"), ("caption",)),
        (("txt", "label"), ("label", "facts")),
    ],
)
def test_fields_that_do_not_go_together(parts, names):
    with pytest.raises(PipelineError, match="has another target than"):
        mixed(parts, dict(zip(parts, names, strict=True)))


def test_fields_of_other_kinds(parts):
    data = mixed(parts, dict(zip(parts, ("txt", "facts"), strict=True)))
    with pytest.raises(PipelineError, match=r"target \(txt\): txt is not there in all parts, or "):
        loader(data)


def test_targets_of_parts_that_are_not_there(parts):
    tars, mds = parts
    with pytest.raises(UsageError) as refused:
        mixed(parts, {tars: "txt", "else": "x"})
    want = f"(want one for each of {tars}, {mds}); correct it"
    assert str(refused.value).splitlines() == [
        f"mix: target has 'else', which is no path of a part {want}",
        f"mix: target has nothing for {mds} {want}",
    ]
