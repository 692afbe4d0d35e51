"""Names of many objects as one URL."""

import json

import pytest

import fastload
from fastload.errors import SourceError, StoreError
from tests.remote.conftest import OPS, batches
from tests.remote.web import serving
from tests.sources import span_helpers


@pytest.fixture
def tars(tmp_path):
    return span_helpers.lay(tmp_path / "local", "pattern", span_helpers.images())


def test_braces_on_a_web_server(tars, tmp_path):
    with serving(tmp_path / "local") as web:
        data = fastload.open(f"{web.url}/{{0..3}}.tar?token=hidden", OPS, cache=tmp_path / "disk")
        assert batches(data) == batches(fastload.open(tars, OPS))
        assert len(fastload.open(f"{web.url}/{{1,3}}.tar", OPS, cache=tmp_path / "disk")) == 10
        with pytest.raises(StoreError) as error:
            fastload.open(f"{web.url}/{{2..6}}.tar", OPS, cache=tmp_path / "disk")
        assert str(error.value) == (
            f"{web.url}/4.tar: is not there (3 such of 5 in {web.url}/{{2..6}}.tar); correct the "
            "pattern"
        )
        with pytest.raises(SourceError) as error:
            fastload.open(f"{web.url}/*.tar", OPS, cache=tmp_path / "disk")
        assert str(error.value) == (
            f"{web.url}/*.tar: a web server lists no files for stars to choose from; write their "
            "names with braces: {000000..000099}.tar"
        )


def test_braces_and_stars_in_s3(tars, bucket, prefix, tmp_path):
    for number in range(4):
        bucket.put(f"{prefix}/{number}.tar", (tmp_path / f"local/{number}.tar").read_bytes())
    bucket.put(f"{prefix}/.hidden.tar", b"x")
    bucket.put(f"{prefix}/below/4.tar", b"x")
    options = {"cache": tmp_path / "disk", "storage_options": bucket.options()}
    want = batches(fastload.open(tars, OPS))
    for name in ("{0..3}.tar", "*.tar", "[0]*.tar"):
        url = f"s3://{bucket.name}/{prefix}/{name}"
        if name.startswith("["):
            with pytest.raises(SourceError, match="names no file that is there; check the path"):
                fastload.open(url, OPS, **options)
        else:
            assert batches(fastload.open(url, OPS, **options)) == want


def test_a_pattern_with_a_cache(tars, tmp_path):
    assert batches(fastload.open(tars, OPS, cache=tmp_path / "disk")) == batches(
        fastload.open(tars, OPS)
    )


def test_folders_are_not_chosen_by_patterns():
    with pytest.raises(SourceError) as error:
        fastload.open("s3://bucket/{a,b}/x.tar", OPS)
    assert str(error.value) == (
        "s3://bucket/{a,b}/x.tar: has braces or stars in its folders; give them in the last part "
        "only, or several data sets to fastload.mix"
    )


def test_an_index_of_wids_and_its_tars(tars, bucket, prefix, tmp_path):
    shards = [{"url": f"{number}.tar", "nsamples": span_helpers.EACH} for number in (2, 0)]
    index = json.dumps({"wids_version": 1, "shardlist": shards})
    (tmp_path / "local" / "index.json").write_text(index)
    for file in (tmp_path / "local").iterdir():
        bucket.put(f"{prefix}/{file.name}", file.read_bytes())
    url = f"s3://{bucket.name}/{prefix}/index.json"
    options = {"cache": tmp_path / "disk", "storage_options": bucket.options()}
    want = batches(fastload.open(tmp_path / "local" / "index.json", OPS), shuffle=False)
    assert batches(fastload.open(url, OPS, **options), shuffle=False) == want
    parts = fastload.open(url, OPS, cache_bytes=20 << 10, **options)
    assert parts.pipeline.source.remote is not None
    assert batches(parts, shuffle=False) == want
