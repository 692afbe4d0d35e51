"""What a seek index would gain on a folder: measured on some of its images, and nothing is left."""

import pytest

from fastload import transforms as T
from fastload.dataset import Dataset
from fastload.loader import DataLoader
from fastload.lowering import open as opened
from fastload.profiler import indexed
from tests.sources.span_helpers import images, lay


@pytest.fixture
def pipeline(photos, tmp_path):
    (tmp_path / "images").symlink_to(photos)
    return opened(str(tmp_path / "images"), [T.RandomResizedCrop(32), T.ToImage()]).pipeline


def priced(pipeline, decodes: list):
    def make(*, seek, sampler):
        loader = DataLoader(Dataset(pipeline), 4, sampler=sampler, seek_index=seek)
        decodes.append(loader)
        return loader

    found = indexed.price(pipeline.source, make, 0.05, lambda: None)
    return found, [loader.decodes() for loader in decodes]


def test_a_folder_with_and_without_an_index(pipeline, tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    (found,), (with_it, without) = priced(pipeline, [])
    assert found.alternative.how == f"fastload index {pipeline.source.where}"
    assert (found.alternative.name, found.computed) == (
        f"index the folder ({found.alternative.how})",
        True,
    )
    assert (len(found.loader.values), len(found.now.values)) == (3, 3)
    assert with_it["indexed"] > 0 == without.get("indexed", 0)
    assert not cache.exists()


def test_a_folder_of_tars_can_be_indexed_a_pattern_is_no_folder(tmp_path):
    where = lay(tmp_path / "data", "tars", images())
    for path, folder in ((where, where), (f"{where}/{{0..1}}.tar", None)):
        assert indexed.folder_of(opened(path, []).pipeline.source) == folder


def test_a_folder_that_has_an_index_needs_none(pipeline, monkeypatch):
    monkeypatch.setattr(indexed.seek_said, "having", lambda *_: 1)
    assert priced(pipeline, []) == ((), [])
