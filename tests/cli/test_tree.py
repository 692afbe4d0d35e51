"""What is in the repository belongs to everyone: no path of the machine that someone worked on."""

import re
import subprocess

import pytest

FOLDERS = "hom[e]|User[s]|roo[t]|wor[k]|opt/f[l]"  # the brackets keep this line out of its own net
PRIVATE = re.compile(rf"(?<![\w.}}$-])/(?:{FOLDERS})/[\w.]+")


def test_no_file_names_a_folder_of_somebodys_machine(tree):
    if not (tree / ".git").exists():
        pytest.skip("not a checkout")
    listed = subprocess.run(
        ["git", "-C", str(tree), "ls-files", "-z"], capture_output=True, text=True, check=True
    ).stdout
    found = []
    for name in filter(None, listed.split("\0")):
        path = tree / name
        content = path.read_bytes() if path.is_file() else b""
        if b"\0" not in content:
            found += [
                f"{name}: {match[0]}"
                for match in PRIVATE.finditer(content.decode("utf-8", "replace"))
            ]
    assert found == []
