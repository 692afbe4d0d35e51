"""Files of rows for tests."""

import os

from fastload.sources.row_file import Rows
from fastload.sources.row_writer import Writer


def written(path, parts, columns, order=None):
    with open(path, "wb") as file:
        writer = Writer(file.fileno(), [str(number) for number in range(columns)])
        for number, (values, names) in enumerate(parts):
            writer.add(values, names, (number,))
        writer.finish({}, range(len(parts)) if order is None else order)
    return opened(path)


def opened(path):
    return Rows(str(path), os.open(path, os.O_RDONLY))
