"""Servers of others: moto's S3, and nginx. And what other formats and verbs make of a URL."""

import shutil
import subprocess

import pytest

import fastload
from fastload.conversion import beton_writer, indexing, inspect, job, subsets, verify
from fastload.conversion.readers import open_reader
from fastload.errors import SourceError, StoreAccessError, StoreError
from fastload.remote.stores import Store
from fastload.remote.urls import parse
from tests.remote.conftest import IMAGES, OPS, batches
from tests.remote.s3 import answers, free_port

NGINX = """
daemon off; master_process off; pid {root}/nginx.pid; error_log {root}/error.log;
events {{}}
http {{
  access_log off; client_body_temp_path {root}/body; proxy_temp_path {root}/proxy;
  fastcgi_temp_path {root}/fastcgi; uwsgi_temp_path {root}/uwsgi; scgi_temp_path {root}/scgi;
  server {{ listen 127.0.0.1:{port}; root {folder}; }}
}}
"""


@pytest.fixture(scope="module")
def s3(bucket, shards):
    """The settings of an S3 server that has the data set in bucket `images`."""
    options = bucket.options()
    store = Store(parse("s3://images/some sets/%41"), options)
    for file in shards.iterdir():
        store.put(file.name, str(file))
    for number in range(4):
        file = shards.parent / "images" / f"class-{number % 3}" / f"{number:03}.jpg"
        key = f"folder/{file.parent.name}/{file.name}"
        Store(parse("s3://images"), options).put(key, str(file))
    bucket.put("evil/../x.jpg", b"x")
    return options


def test_shards_in_s3(s3, shards, tmp_path):
    data = fastload.open("s3://images/some sets/%41", OPS, cache=tmp_path, storage_options=s3)
    assert batches(data) == batches(fastload.open(shards, OPS))
    loader = fastload.DataLoader(data, 7, shuffle=True, seed=3)
    line = loader.explain().splitlines()[-1]
    assert line.startswith("  store   s3://images/some sets/%41: 100% of 1 MiB are in the cache ")
    assert line.endswith(" (at most 102,400 MiB)")
    assert loader.stats()["store"]["where"] == "s3://images/some sets/%41"
    assert loader.stats()["store"]["bytes"] > 0
    assert "hidden" not in repr(loader) + loader.explain() + repr(vars(data.pipeline.source.remote))


def test_a_folder_in_s3(s3, tmp_path):
    data = fastload.open("s3://images/folder", OPS, cache=tmp_path, storage_options=s3)
    assert data.classes == ("class-0", "class-1", "class-2")
    assert len(data) == 4
    assert data[0][0].shape == (3, 24, 31)


@pytest.mark.parametrize(
    ("url", "kind", "text"),
    [
        (
            "s3://no-such-bucket/a",
            StoreError,
            (
                "s3://no-such-bucket/a/index.arrow.xxh3: there is no such bucket (404 Not Found "
                "NoSuchBucket); check the URL and the endpoint"
            ),
        ),
        (
            "s3://images/nothing",
            StoreError,
            "s3://images/nothing: holds no objects; check the URL",
        ),
        (
            "s3://images/evil",
            StoreError,
            "s3://images/evil: has a key that cannot be a file's name; rename the object",
        ),
    ],
)
def test_errors_of_s3(s3, tmp_path, url, kind, text):
    with pytest.raises(kind) as raised:
        fastload.open(url, OPS, cache=tmp_path, storage_options=s3)
    assert str(raised.value) == text


def test_the_codes_of_s3(web, tmp_path, monkeypatch):
    """What S3 says of credentials and regions, by its codes."""
    codes = {
        "ExpiredToken": (
            "there are no credentials that the store takes (400 Bad Request ExpiredToken); renew "
            "or set them, or set AWS_SKIP_SIGNATURE=true for public data"
        ),
        "AccessDenied": (
            "access is denied (403 Forbidden AccessDenied); check the rights of the credentials, "
            "or set AWS_SKIP_SIGNATURE=true for public data"
        ),
        "PermanentRedirect": (
            "the bucket is in another region (400 Bad Request PermanentRedirect); set AWS_REGION "
            "to its own"
        ),
    }
    options = {
        "endpoint": web.url, "region": "us-east-1", "skip_signature": True,
        "client_options": {"allow_http": True},
    }  # fmt: skip
    for code, text in codes.items():
        web.answer = (403 if code == "AccessDenied" else 400, f"<Error><Code>{code}</Code></Error>")
        with pytest.raises(StoreAccessError) as raised:
            fastload.open("s3://images/a", OPS, cache=tmp_path, storage_options=options)
        assert str(raised.value) == f"s3://images/a/index.arrow.xxh3: {text}"


@pytest.fixture
def nginx(shards, tmp_path):
    """The URL of an nginx that has the data set."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        pytest.skip("needs nginx: apt-get install nginx-light")
    port, root = free_port(), tmp_path / "nginx"
    root.mkdir()
    (root / "conf").write_text(NGINX.format(root=root, port=port, folder=shards.parent))
    command = [program, "-p", str(root), "-c", str(root / "conf"), "-e", str(root / "error.log")]
    with subprocess.Popen(command) as process:
        try:
            answers(port, process)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def test_shards_from_nginx(nginx, shards, tmp_path):
    data = fastload.open(f"{nginx}/shards", OPS, cache=tmp_path / "disk")
    assert batches(data) == batches(fastload.open(shards, OPS))
    with pytest.raises(StoreError, match=r"nothing: (cannot be read|is not there)"):
        fastload.open(f"{nginx}/nothing", OPS, cache=tmp_path / "disk")


def test_a_file_from_the_web(web, shards, tmp_path):
    target = shards.parent / "train.beton"
    if not target.exists():
        reader = open_reader(str(shards.parent / "images"))
        beton_writer.run(reader, str(target), beton_writer.Options(workers=1))
    data = fastload.open(f"{web.url}/train.beton?sig=hidden", OPS, cache=tmp_path / "disk")
    assert batches(data) == batches(fastload.open(target, OPS))
    with pytest.raises(fastload.CacheError) as raised:
        fastload.open(f"{web.url}/train.beton", OPS, cache=tmp_path / "disk", cache_bytes=1000)
    assert str(raised.value).startswith(f"{web.url}/train.beton: has ")


def test_verbs_that_read(web, shards, tmp_path):
    url = f"{web.url}/shards"
    facts, want = inspect.inspect(url), inspect.inspect(str(shards))
    assert (facts.samples, facts.bytes, facts.formats, facts.indexed, facts.warnings) == (
        want.samples, want.bytes, want.formats, want.indexed, [],
    )  # fmt: skip
    report = verify.verify(verify.prepare(url))
    assert (report.kind, report.samples, report.damages) == ("shards", IMAGES, ())
    job.run(job.prepare(url, str(tmp_path / "copy"), job.Options(to="folder")))
    assert len(list((tmp_path / "copy").rglob("*.jpg"))) == IMAGES
    for verb in (subsets.open_index, indexing.prepare):
        with pytest.raises(SourceError) as raised:
            verb(url)
        assert str(raised.value) == (
            f"{url}: lies in a store, and this verb works on local data; convert it to a local "
            "folder first"
        )
