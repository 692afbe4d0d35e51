"""The native extension beside other packages' libraries."""

import shutil
import subprocess
import sys

import pytest

CODE = """
import ctypes, sys
for name in sys.argv[1:]:
    ctypes.CDLL(name)
import fastload._native
print("imported")
"""


@pytest.mark.skipif(
    not shutil.which("cc") or sys.platform != "linux",
    reason="needs a C compiler, and the loader of Linux",
)
def test_another_packages_libjpeg_is_not_taken_for_the_systems(tmp_path):
    # torchvision 0.19 brings an old libjpeg.so.62, which is loaded first where a program imports it
    # first.
    (tmp_path / "empty.c").write_text("")
    made = []
    for name in ("libjpeg.so.62", "libjpeg.so.8"):
        made.append(str(tmp_path / f"theirs-{name}"))
        subprocess.run(
            ["cc", "-shared", f"-Wl,-soname,{name}", "-o", made[-1], str(tmp_path / "empty.c")],
            check=True,
        )
    done = subprocess.run(
        [sys.executable, "-c", CODE, *made], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("imported\n", "")
