"""What the keys of an LMDB database of images mean.

    image-KEY (or image_KEY), and label-KEY       the label is text: a number, or a class's name
    KEY.jpg (or another image), and KEY.cls       likewise
    CLASS/NAME                                    each class is what is before the slash

Other values beside an image have keys of the same form: txt-KEY, KEY.txt. Without labels and
without slashes, the first two are data sets without classes.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fastload.errors import SourceError
from fastload.files.names import shown
from fastload.sources import lmdb_tree
from fastload.sources.lmdb_tree import Entry

PAIRED = re.compile(rb"(?:image|img)([-_:].+)", re.DOTALL)
NAMED = re.compile(rb"(.+)\.(?:jpe?g|png|webp|bmp|gif|tiff?|ppm|pgm)", re.DOTALL | re.IGNORECASE)
# Keys that tell about a database and have no image
BESIDE = re.compile(rb"__.*|num[-_]samples|length|len|size|keys|classes|meta(data)?", re.DOTALL)
LABELLED = re.compile(rb"label|class|cls|target")  # in the name of a value: it may be a label
SEPARATORS = re.compile(rb"[-_:]")
NAMES = 16  # of other values, that an error tells
REMEDY = (
    "write image-KEY and label-KEY, KEY.jpg and KEY.cls, or CLASS/NAME, with the bytes of image "
    "files as values"
)
Found = Mapping[bytes, Entry]


@dataclass(frozen=True)
class Layout:
    """How the keys of images and of what is beside them are made.

    Args:
        image: Matches the keys of images; its group is what they share with those beside them.
        form: The key beside an image, of that and the value's name.
        name: A value's name, of its key.
        cls: The name of labels.
        labelled: There are such.
        folders: Classes are before a slash of the images' keys.
    """

    image: re.Pattern[bytes]
    form: Callable[[bytes, bytes], bytes]
    name: Callable[[bytes], bytes]
    cls: str
    labelled: bool = False
    folders: bool = False

    def beside(self, image: bytes, name: str) -> bytes | None:
        """The key of the value with this name beside an image."""
        match = self.image.fullmatch(image)
        return self.form(match[1], name.encode("utf-8", "surrogateescape")) if match else None

    def label(self, image: bytes) -> bytes:
        key = self.beside(image, self.cls)
        assert key is not None
        return key


def _before(key: bytes) -> bytes:
    return SEPARATORS.split(key, maxsplit=1)[0]


def _behind(key: bytes) -> bytes:
    return key.rpartition(b".")[2]


LAYOUTS = (
    (PAIRED, lambda key, name: name + key, _before, "label"),
    (NAMED, lambda key, name: key + b"." + name, _behind, "cls"),
)


def found(path: str, file: int) -> dict[bytes, Entry]:
    """The entries of a database by their keys. Raises SourceError and OSError."""
    known = dict[bytes, Entry]()
    for entry in lmdb_tree.entries(path, file):
        if known.setdefault(entry.key, entry) is not entry:
            raise SourceError(f"{path}: has the key {text(entry.key)} twice; {lmdb_tree.REMEDY}")
    return known


def images(path: str, found: Found) -> tuple[list[bytes], Layout | None]:
    """The keys of the images, and how they are made; None: nothing is beside them.

    Raises SourceError where some images have labels and others have none, or something else may
    be labels.
    """
    for parts in LAYOUTS:
        layout = Layout(*parts, labelled=True)
        keys = [key for key in found if layout.image.fullmatch(key)]
        lacking = [key for key in keys if layout.label(key) not in found]
        if len(lacking) < len(keys):
            if lacking:
                raise unlabelled(path, lacking, len(keys))
            return keys, layout
    every = [key for key in found if not BESIDE.fullmatch(key)]
    if every and all(b"/" in key for key in every):
        return _in_folders(every)
    for parts in LAYOUTS:
        layout = Layout(*parts)
        keys = [key for key in every if layout.image.fullmatch(key)]
        rest = set(every).difference(keys)
        if not keys or any(b"/" in key for key in keys):
            continue
        if any(LABELLED.search(layout.name(key)) for key in rest):
            raise unlabelled(path, keys, len(keys))
        return keys, layout
    return every, None


def _in_folders(every: list[bytes]) -> tuple[list[bytes], Layout]:
    """Of CLASS/NAME.jpg and CLASS/NAME.txt only the first is an image."""
    layout = Layout(*LAYOUTS[1], folders=True)
    stems = {match[1] for key in every if (match := NAMED.fullmatch(key))}
    keys = [key for key in every if NAMED.fullmatch(key) or key.rpartition(b".")[0] not in stems]
    return keys, layout


def others(found: Found, images: list[bytes]) -> list[str]:
    """Names of what is beside the images, for an error."""
    rest = (key for key in dict.fromkeys(found).keys() - set(images) if not BESIDE.fullmatch(key))
    paired = bool(images) and bool(PAIRED.fullmatch(images[0]))
    names = {(_before if paired else _behind)(key).decode("utf-8", "replace") for key in rest}
    return [name for name in sorted(names)[:NAMES] if name]


def unlabelled(path: str, lacking: list[bytes], count: int) -> SourceError:
    """Some of the images have no label."""
    return SourceError(
        f"{path}: {len(lacking)} of {count} images have no label (such as {text(lacking[0])}); "
        f"{REMEDY}"
    )


def text(key: bytes) -> str:
    """A key as a message shows it."""
    return shown(key.decode("utf-8", "replace"))
