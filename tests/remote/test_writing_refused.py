"""Targets in stores that are refused, and how each error reads; the command line."""

import json
import os

import numpy as np
import pytest

from fastload.conversion import beton_writer, job, subset_columns, subsets
from fastload.conversion.readers import open_reader
from fastload.errors import (
    ConversionError,
    FastloadError,
    SourceError,
    StoreAccessError,
    StoreError,
    UsageError,
)
from fastload.remote import unfinished
from fastload.remote.urls import parse
from tests.remote import s3


def refused(source, where, **options):
    """The error of a conversion."""
    with pytest.raises(FastloadError) as raised:
        job.run(job.prepare(str(source), where, job.Options(workers=1, **options)))
    assert "\n" not in str(raised.value)
    return type(raised.value), str(raised.value)


NOT_WRITTEN = "is a kind of URL that is not written to (want s3://, gs:// or az://); give one of"


@pytest.mark.parametrize(
    ("where", "options", "kind", "text"),
    [
        *(
            (
                f"{scheme}://me:hidden@server/data?sig=hidden",
                {},
                ConversionError,
                f"{scheme}://…: {NOT_WRITTEN} these, or a local folder",
            )
            for scheme in ("http", "https", "hf", "ftp", "memory")
        ),
        (
            "s3://me:hidden@images/a?sig=hidden",
            {"to": "folder"},
            ConversionError,
            (
                "s3://images/a: only shards are written to a store (got --to folder); convert to a "
                "local path, and copy it there"
            ),
        ),
        ("s3://", {}, SourceError, "s3://…: names no bucket or server; write s3://NAME/PATH"),
        (
            "local",
            {"scratch": "x", "storage_options": {"region": "y"}},
            UsageError,
            "local: scratch and storage_options given for a local target; leave it out",
        ),
    ],
)
def test_targets_that_are_refused(images, where, options, kind, text):
    assert refused(images, where, **options) == (kind, text)
    assert not os.path.exists("s3:")


def test_other_writers_refuse_urls(images, shards):
    with pytest.raises(ConversionError) as raised:
        beton_writer.run(open_reader(images), "s3://images/a.beton", beton_writer.Options())
    assert str(raised.value).startswith("s3://images/a.beton: only shards are written to a store (")
    index = subsets.open_index(str(shards))
    part = subset_columns.Part(index, np.arange(3))
    with pytest.raises(SourceError) as raised:
        subsets.write("s3://images/part", [part])
    assert str(raised.value) == (
        "s3://images/part: lies in a store, and this verb works on local data; convert it to a "
        "local folder first"
    )


@pytest.mark.parametrize(
    ("source", "where", "nested"),
    [
        ("s3://b/images", "s3://b/images/shards", True),
        ("s3://b/images", "s3://b/images", True),
        ("s3://b/images", "s3://b/images2", False),
        ("s3://b/images", "s3://c/images/shards", False),
        ("/", "s3://b/images", False),
        ("s3://b/images", "local", False),
    ],
)
def test_a_target_in_its_source(source, where, nested):
    if not nested:
        job.refuse_nesting(source, where)
        return
    with pytest.raises(ConversionError) as raised:
        job.refuse_nesting(source, where)
    assert str(raised.value) == f"{where}: lies in the source {source}; give a folder outside of it"


def test_a_prefix_that_holds_anything_else(bucket, images, tmp_path):
    bucket.put("taken/notes.txt", b"mine")
    bucket.put("taken/index.arrow", b"")
    for overwrite in (True, False):
        kind, text = refused(
            images, "s3://images/taken", storage_options=bucket.options(), overwrite=overwrite,
            scratch=str(tmp_path / "scratch"),
        )  # fmt: skip
        want = (
            "is not empty (holds 'notes.txt'); give a new or empty prefix"
            if overwrite
            else "holds a data set already; give another prefix, or --overwrite to replace it"
        )
        assert (kind, text) == (ConversionError, f"s3://images/taken: {want}")
    assert sorted(bucket.contents("taken")) == ["index.arrow", "notes.txt"]
    assert not (tmp_path / "scratch").exists()


@pytest.mark.parametrize(
    ("fault", "kind", "text"),
    [
        (
            "403 AccessDenied",
            StoreAccessError,
            "access is denied (403 Forbidden AccessDenied); check the rights of the credentials",
        ),
        (
            "400 ExpiredToken",
            StoreAccessError,
            (
                "there are no credentials that the store takes (400 Bad Request ExpiredToken); "
                "renew or set them"
            ),
        ),
        (
            "400 AuthorizationHeaderMalformed",
            StoreAccessError,
            (
                "the bucket is in another region (400 Bad Request AuthorizationHeaderMalformed); "
                "set AWS_REGION to its own"
            ),
        ),
        (
            "400 EntityTooLarge",
            StoreError,
            "cannot be written (400 Bad Request EntityTooLarge); check the store and the URL",
        ),
    ],
)
def test_what_the_store_says_of_a_shard(bucket, images, tmp_path, fault, kind, text):
    with s3.faulty(bucket) as faulty:
        faulty.faults = lambda _, key, __: fault if key == "shard-000000.tar" else ""
        url = f"s3://images/{fault[4:]}"
        got = refused(
            images, url, storage_options=bucket.options(faulty.url), scratch=str(tmp_path / "x")
        )
    assert got == (kind, f"{url}/shard-000000.tar: {text}")
    assert bucket.contents(fault[4:]) == {}
    assert not (tmp_path / "x").exists()


def test_no_rights_to_write_at_all(bucket, images, cache):
    """Before anything is made."""
    with s3.faulty(bucket) as faulty:
        faulty.faults = lambda method, *_: "403" if method == "PUT" else ""
        got = refused(images, "s3://images/closed", storage_options=bucket.options(faulty.url))
    assert got == (
        StoreAccessError,
        (
            "s3://images/closed/.fastload-index.arrow: access is denied (403 Forbidden "
            "AccessDenied); check the rights of the credentials"
        ),
    )
    assert os.listdir(cache / "fastload" / "converting") == []
    assert (cache / "fastload").stat().st_mode & 0o777 == 0o700


def test_no_such_bucket(bucket, images):
    assert refused(images, "s3://no-such-bucket/a", storage_options=bucket.options()) == (
        StoreError,
        (
            "s3://no-such-bucket/a: there is no such bucket (404 Not Found NoSuchBucket); check "
            "the URL and the endpoint"
        ),
    )


def test_http_that_is_not_allowed(bucket, images):
    options = bucket.options() | {"client_options": {}}
    assert refused(images, "s3://images/a", storage_options=options) == (
        StoreError,
        (
            "s3://images/a: no request can be made (HTTP error: builder error); check the "
            "endpoint; one of http:// needs AWS_ALLOW_HTTP=true"
        ),
    )


def test_uploads_that_nobody_completes_are_ended(bucket):
    """Those of other keys stay."""
    for key in ("some set/A/shard-000000.tar", "some set/A/notes", "other/shard-000000.tar"):
        bucket.client.create_multipart_upload(Bucket="images", Key=key)
    url, ours = parse("s3://images/some set/%41"), lambda name: name.startswith("shard-")
    assert unfinished.end(url, bucket.options(), ours) == ""
    assert sorted(bucket.uploads()) == ["other/shard-000000.tar", "some set/A/notes"]
    assert unfinished.end(parse("az://images/a"), {}, ours) == ""
    assert unfinished.end(parse("gs://b/a"), {}, ours) == unfinished.REMEDY
    unreachable = bucket.options("http://127.0.0.1:1")
    assert unfinished.end(url, unreachable, ours) == unfinished.REMEDY


@pytest.mark.long
def test_the_command_line(bucket, shards, program, tmp_path):
    common = (
        "-m", "fastload", "convert", str(shards.parent / "images"),
        "s3://me:hidden@images/cli?x=hidden", "--shard-size", "128K", "--shuffle", "5",
    )  # fmt: skip
    environment = bucket.environment() | {"COLUMNS": "200"}
    planned = program(*common, "--dry-run", "--json", "-", **environment)
    assert json.loads(planned.stdout)["shards"] == len(list(shards.glob("*.tar")))
    assert bucket.contents("cli") == {}
    done = program(*common, "--scratch", str(tmp_path), "--json", "-", **environment)
    said = json.loads(done.stdout)
    assert (done.returncode, said["path"], said["samples"]) == (0, "s3://images/cli", 60)
    assert bucket.contents("cli") == {path.name: path.read_bytes() for path in shards.iterdir()}
    verified = program("-m", "fastload", "verify", "s3://images/cli", **environment)
    assert verified.returncode == 0, verified.stderr
    again = program(*common, "--resume", **environment)
    assert again.stdout.startswith("s3://images/cli: already whole: 60 samples, ")
    refused = program(*common, **environment)
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert "s3://images/cli: holds a data set already; give another prefix" in refused.stderr
    for each in (planned, done, again, refused):
        assert "hidden" not in each.stdout + each.stderr
