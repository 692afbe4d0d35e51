"""Sources and targets that this user may not read or write."""

import os
import tempfile
from pathlib import Path

import pytest

from fastload.errors import ConversionError
from fastload.sources import open_source


@pytest.fixture
def shared():
    """A folder that another user can reach; pytest's own are closed to others."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def as_nobody(tools, work):
    """Permissions do not bind root, so a child of another user does the work; anyone else does it
    in a plain child.
    """
    return tools.in_child(work, uid=65534 if os.getuid() == 0 else None)


def test_unreadable_file_is_a_bad_sample(tools, shared):
    root = tools.write_tree(
        shared / "in", {"c/a.jpg": tools.encode(5, 9), "c/b.jpg": tools.encode(6, 9)}
    )
    os.chmod(root / "c" / "b.jpg", 0)
    (shared / "out").mkdir()
    os.chmod(shared / "out", 0o777)
    said = as_nobody(tools, lambda: tools.convert(root, shared / "out"))
    assert str(said).splitlines() == [
        f"{shared}/out: 1 of 2 samples are bad; mend them, or pass --on-error skip",
        f"{root}/c/b.jpg: cannot be read (Permission denied); make it readable or remove it",
    ]
    assert os.listdir(shared / "out") == []


def test_target_without_permission(tools, shared):
    root = tools.write_tree(shared / "in", {"c/a.jpg": tools.encode(5, 9)})
    os.mkdir(shared / "closed", 0o555)
    for target in (shared / "closed" / "out", shared / "closed"):
        said = as_nobody(tools, lambda target=target: tools.convert(root, target))
        assert type(said) is ConversionError
        text = (
            f"{target}: cannot be written (Permission denied); check the folder's permissions "
            "and its disk; nothing was left there"
        )
        assert str(said) == text
    assert os.listdir(shared / "closed") == []


def test_unreadable_index(tools, shared):
    root = tools.write_tree(shared / "in", {"c/a.jpg": tools.encode(5, 9)})
    tools.convert(root, shared / "out")
    os.chmod(shared / "out" / "index.arrow", 0)
    said = as_nobody(tools, lambda: open_source(shared / "out"))
    assert (
        str(said)
        == f"{shared}/out/index.arrow: cannot be read (Permission denied); check the path and its "
        "permissions"
    )
