"""Several copies of libjpeg in one process: each library decodes as if it were alone, whichever was
imported first.
"""

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import PACKAGE, TREE, encoded, textured

pytest.importorskip("cv2")

LIBRARIES = ("PIL.Image", "cv2", "torchvision.io", "fastload")


@pytest.mark.long
def test_every_order_of_imports_gives_each_library_its_own_pixels(tmp_path):
    files = []
    for number, options in enumerate([{}, {"progressive": True}, {"subsampling": 0}]):
        files.append(tmp_path / f"{number}.jpg")
        files[-1].write_bytes(encoded(textured(61, 94, number), quality=88, **options))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(PACKAGE), str(TREE)])}
    command = [sys.executable, str(Path(__file__).with_name("libjpegs.py")), *map(str, files)]
    said = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment
    )
    assert said.returncode == 0, said.stderr
    digests = json.loads(said.stdout)
    alone = {name: digests[name][name] for name in LIBRARIES}
    for order in itertools.permutations(LIBRARIES):
        assert digests[",".join(order)] == alone, order
    assert alone["fastload"] == alone["PIL.Image"]
