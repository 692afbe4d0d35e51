"""A writer of LMDB files after the format, for tests."""

import struct
from pathlib import Path

PAGE = 4096
HEAD = 16
BRANCH, LEAF, OVERFLOW, META = 1, 2, 4, 8
NO_ROOT = (1 << 64) - 1


def page(number, flags, nodes, size=PAGE):
    """A page with nodes: they fill it from its end."""
    body, pointers = bytearray(size), []
    end = size
    for node in nodes:
        node += b"\0" * (len(node) % 2)
        end -= len(node)
        body[end : end + len(node)] = node
        pointers.append(end)
    lower = HEAD + 2 * len(nodes)
    assert lower <= end
    body[:HEAD] = struct.pack("<QHHHH", number, 0, flags, lower, end)
    body[HEAD:lower] = struct.pack(f"<{len(pointers)}H", *pointers)
    return bytes(body)


def node(key, data, flags=0, size=None):
    size = len(data) if size is None else size
    return struct.pack("<HHHH", size & 0xFFFF, size >> 16, flags, len(key)) + key + data


def branch(key, below):
    low, high, flags = below & 0xFFFF, below >> 16 & 0xFFFF, below >> 32
    return struct.pack("<HHHH", low, high, flags, len(key)) + key


def meta(number, root, entries, transaction, size=PAGE, flags=0, depth=1, last=2, **changed):
    free = struct.pack("<IHHQQQQQ", changed.get("page", size), 0, 0, 0, 0, 0, 0, NO_ROOT)
    main = struct.pack("<IHHQQQQQ", 0, flags, depth, 0, 0, 0, entries, root)
    head = struct.pack("<QHHI", number, 0, META, 0)
    start = struct.pack("<IIQQ", changed.get("magic", 0xBEEFC0DE), 1, 0, 1 << 30)
    return (head + start + free + main + struct.pack("<QQ", last, transaction)).ljust(size, b"\0")


def groups(nodes, size):
    """As many as fit into a page, of each."""
    part, left = [], size - HEAD
    for key, one in nodes:
        need = len(one) + len(one) % 2 + 2
        if need > left and part:
            yield part
            part, left = [], size - HEAD
        part.append((key, one))
        left -= need
    if part:
        yield part


def database(items, size=PAGE, **changed):
    """The bytes of a file with these keys and values."""
    pages = [b"", b""]

    def add(flags, nodes):
        pages.append(page(len(pages), flags, nodes, size))
        return len(pages) - 1

    nodes = []
    for key, value in sorted(items.items()):
        if 8 + len(key) + len(value) <= (size - HEAD) // 2 - 2:
            nodes.append((key, node(key, value)))
            continue
        count = -(-(HEAD + len(value)) // size)
        nodes.append((key, node(key, struct.pack("<Q", len(pages)), 1, len(value))))
        head = struct.pack("<QHHI", len(pages), 0, OVERFLOW, count)
        whole = (head + value).ljust(count * size, b"\0")
        pages += [whole[at : at + size] for at in range(0, len(whole), size)]
    depth = 1
    level = [(part[0][0], add(LEAF, [one for _, one in part])) for part in groups(nodes, size)]
    while len(level) > 1:
        depth += 1
        above = [
            (key, branch(key if number else b"", at)) for number, (key, at) in enumerate(level)
        ]
        level = [
            (part[0][0], add(BRANCH, [one for _, one in part])) for part in groups(above, size)
        ]
    about = {
        "root": level[0][1] if level else NO_ROOT, "entries": len(items), "transaction": 5,
        "depth": depth, "last": len(pages) - 1, "size": size,
    }  # fmt: skip
    pages[0] = meta(0, 77, 3, 4, size)  # of the transaction before
    pages[1] = meta(1, **about | changed)
    return b"".join(pages)


def write(folder: Path, items, **options) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "data.mdb").write_bytes(database(items, **options))
    return folder
