"""A package that adds a source, a reader, a writer and a backend to fastload.

Only the records are here, so that finding out what there is costs no import of more.
"""

from fastload.extending import BackendFacts, Format

FORMAT = Format(
    "toy",
    summary="toy data set (images.toy in a folder)",
    source="toy.source",
    writer="toy.writer",
    markers=("images.toy",),
    install="pip install fastload-toy",
)
ALBUM = Format(
    "toy-album",
    summary="toy album (.album)",
    reader="toy.reader",
    suffixes=(".album",),
)
MIRROR = BackendFacts("toy-mirror", "toy.backend", "workers", profiled_batch=4)
