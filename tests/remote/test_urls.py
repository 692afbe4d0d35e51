"""URLs: what they name, and that nothing secret of them is ever shown."""

import pickle

import pytest

import fastload
from fastload.errors import SourceError, UsageError
from fastload.remote.access import Settings
from fastload.remote.stores import Store
from fastload.remote.urls import is_url, local, of_path, parse, public


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("s3://bucket/a/b/", "s3://bucket/a/b"),
        ("s3://bucket", "s3://bucket"),
        ("gs://bucket/with space/%25", "gs://bucket/with space/%25"),
        (
            "https://user:word@host:8443/data%20set/x?sig=secret#part",
            "https://host:8443/data set/x",
        ),
        ("hf://datasets/me/set", "hf://datasets/me/set"),
        ("S3://bucket/a?versionId=1", "s3://bucket/a"),
        ("file:///data/a%20b", "/data/a b"),
    ],
)
def test_a_url_is_shown_without_what_may_be_secret(text, shown):
    url = parse(text)
    assert url.shown == shown
    for word in ("word", "secret", "versionId"):
        assert word not in repr(url)
        assert word not in repr(Store(url, {"secret_access_key": "word"}))


def test_verbs_print_no_secret():
    assert public("https://u:word@host/a?sig=secret") == "https://host/a"
    assert public("train/a?b") == "train/a?b"


def test_what_a_user_gives_is_never_printed():
    settings = Settings({"secret_access_key": "hidden"})
    assert "hidden" not in repr(settings)
    assert pickle.loads(pickle.dumps(settings)) == settings


def test_the_same_data_set_has_the_same_place_whatever_its_signature():
    one, other = (parse(f"https://host/set?sig={number}") for number in (1, 2))
    assert one.digest == other.digest
    assert one.digest != parse("https://host/set2").digest


def test_a_file_and_its_folder():
    url = parse("https://u:p@host/a/b.beton?sig=1")
    assert url.name == "b.beton"
    assert url.folder.shown == "https://host/a"
    assert url.folder.raw == "https://u:p@host/a/?sig=1"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            "ftp://host/a",
            (
                "ftp://…: is a kind of URL that fastload does not read (want s3://, gs://, "
                "az://, https://, http://, hf://); give one of these, or a path"
            ),
        ),
        (
            "s3://bucket/a\nb",
            (
                "s3://…: has control characters, or more than 4000 characters; write them as "
                "%XX, or move the data"
            ),
        ),
        ("s3:///a", "s3://…: names no bucket or server; write s3://NAME/PATH"),
        ("https://host:x/a", "https://…: is no valid URL; check its host and port"),
    ],
)
def test_what_no_url_can_be(text, error):
    with pytest.raises(SourceError) as raised:
        parse(text)
    assert str(raised.value) == error


def test_paths_are_no_urls(tmp_path):
    assert not is_url("train")
    assert not is_url("a:b//c")
    assert not is_url(tmp_path)
    assert is_url("s3://bucket")
    assert local(of_path("/data/50 %")) == "/data/50 %"


def test_settings_out_of_their_range():
    with pytest.raises(UsageError) as raised:
        Settings(cache_bytes=0, deadline=-1, max_bandwidth=-1)
    assert str(raised.value).splitlines() == [
        "open: cache_bytes is 0, want bytes, 1 or more",
        "open: deadline is -1, want seconds, more than 0",
        "open: max_bandwidth is -1, want bytes per second, or 0 for any number",
    ]


def test_settings_that_are_no_numbers():
    with pytest.raises(UsageError) as raised:
        Settings(cache_bytes="10GiB", deadline=True, max_bandwidth="5MB")
    assert str(raised.value).splitlines() == [
        "open: cache_bytes is '10GiB', want bytes, 1 or more",
        "open: deadline is True, want seconds, more than 0",
        "open: max_bandwidth is '5MB', want bytes per second, or 0 for any number",
    ]


@pytest.mark.parametrize(
    ("path", "given", "said"),
    [
        (["a"], {}, "path is a list, want a path or a URL; give several data sets to fastload.mix"),
        (b"a", {}, "path is a bytes, want a path or a URL; give several data sets to fastload.mix"),
        (
            "s3://a",
            {"storage_options": "x"},
            "storage_options is a str, want a dictionary of options",
        ),
        (
            "s3://a/{0..1}.tar",
            {"cache": "run{1..2}"},
            "cache is 'run{1..2}', whose braces or stars would name files; give another folder",
        ),
    ],
)
def test_arguments_of_other_types(path, given, said):
    with pytest.raises(UsageError) as raised:
        fastload.open(path, [], **given)
    assert str(raised.value) == f"open: {said}"
