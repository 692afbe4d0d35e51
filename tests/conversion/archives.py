"""Archives as an attacker would make them, and what a reader says of them."""

import io
import tarfile
import zipfile

import pytest

from fastload.conversion.readers import Choice, open_reader
from fastload.errors import SourceError


def tar_of(path, *members):
    """members: (name, content), or a TarInfo."""
    with tarfile.open(path, "w") as archive:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
                continue
            info = tarfile.TarInfo(member[0])
            info.size = len(member[1])
            archive.addfile(info, io.BytesIO(member[1]))
    return path


def special(name, kind, link=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


def refused(path, choice=None):
    with pytest.raises(SourceError) as error:
        open_reader(str(path), choice or Choice())
    return str(error.value)


def zip_of(path, *members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members:
            archive.writestr(name, content)
    return path
