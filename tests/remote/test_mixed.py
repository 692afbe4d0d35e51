"""Parts of a mix, and values beside images, of shards in a store: they are brought whole."""

import pickle

import pytest

import fastload
from tests.loader.declared_helpers import COUNT, PATH, VEC, path, shards, vector
from tests.loader.resume_helpers import check_every_step
from tests.remote.conftest import OPS
from tests.remote.web import serving

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    root = tmp_path_factory.mktemp("store")
    shards(root / "data")
    with serving(root) as web:
        yield web, root


def mixed(web, root, cache, **named):
    far = fastload.open(f"{web.url}/data-shards", OPS, cache=cache)
    return fastload.mix([(far, 1), (str(root / "data-shards"), 1)], OPS, by="epochs", **named)


def loader(data):
    return fastload.DataLoader(data, 6, shuffle=True, seed=2)


def test_a_part_in_a_store_is_as_a_local_one(store, tmp_path):
    web, root = store
    where = str(root / "data-shards")
    both = fastload.mix([(where, 1), (where, 1)], OPS, by="epochs")
    data = mixed(web, root, tmp_path / "cache")
    for (mine, labels), (theirs, want) in zip(loader(data), loader(both), strict=True):
        assert mine.numpy().tobytes() == theirs.numpy().tobytes()
        assert labels.tolist() == want.tolist()
    asked = len(web.asked)
    data = pickle.loads(pickle.dumps(data))
    assert check_every_step(lambda: loader(data)) > 0
    assert len(web.asked) == asked  # all of it is there


def test_values_beside_images_in_a_store(store, tmp_path):
    web, _ = store
    declared = {"vec.npy": VEC, "path.json": PATH}
    data = fastload.open(f"{web.url}/data-shards", OPS, cache=tmp_path / "cache", target=declared)
    _, values = next(iter(fastload.DataLoader(data, COUNT)))
    assert values["vec.npy"].tolist() == [vector(n).tolist() for n in range(COUNT)]
    assert values["path.json"].tolist() == [path(n) for n in range(COUNT)]
