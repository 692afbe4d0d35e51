"""The sources in third_party/ are those that its list names, with their licences."""

import hashlib
import json
import tarfile
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "third_party"
if not FOLDER.exists():
    pytest.skip("needs a checkout: a wheel is tested without third_party", allow_module_level=True)
COMPONENTS = json.loads((FOLDER / "sbom.cdx.json").read_text())["components"]
NAMES = [part["name"] for part in COMPONENTS]


def archive(part: dict) -> Path:
    return FOLDER / f"{part['name']}-{part['version']}.tar.xz"


def test_every_archive_is_listed_and_nothing_else_lies_there():
    assert {archive(part) for part in COMPONENTS} == set(FOLDER.glob("*.tar.*"))


@pytest.mark.parametrize("part", COMPONENTS, ids=NAMES)
def test_an_archive_has_its_checksum(part):
    assert part["hashes"][0]["alg"] == "SHA-256"
    assert hashlib.sha256(archive(part).read_bytes()).hexdigest() == part["hashes"][0]["content"]


@pytest.mark.parametrize("part", COMPONENTS, ids=NAMES)
def test_an_archive_has_plain_files_in_one_folder(part):
    with tarfile.open(archive(part)) as packed:
        members = packed.getmembers()
    assert all(member.isreg() and ".." not in member.name for member in members)
    assert {m.name.split("/")[0] for m in members} == {f"{part['name']}-{part['version']}"}


@pytest.mark.parametrize("part", COMPONENTS, ids=NAMES)
def test_the_notices_are_those_of_the_archive(part):
    """A wheel carries licenses/, not the archives."""
    notices = sorted((FOLDER / "licenses").glob(f"{part['name']}.*"))
    assert notices
    with tarfile.open(archive(part)) as packed:
        for notice in notices:
            inside = f"{part['name']}-{part['version']}/{notice.name.partition('.')[2]}"
            assert packed.extractfile(inside).read() == notice.read_bytes()
