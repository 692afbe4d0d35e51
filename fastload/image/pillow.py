"""Whether Pillow is as it was when this module was imported: the code that a lazy image stands in
for.

A program that replaces a method of Pillow's wants it called, so then no image is lazy.
"""

from types import FunctionType

from PIL import Image, ImageFile, JpegImagePlugin

HOMES = (Image.Image, ImageFile.ImageFile, JpegImagePlugin.JpegImageFile)
# What their methods ask for in PIL.Image
# The methods that a lazy image has of its own, with the defaults that these take for granted
_STOOD_IN = {
    "convert": (None, None, None, Image.Palette.WEB, 256),
    "copy": None,
    "crop": (None,),
    "resize": (None, None, None),
    "transpose": None,
}
_GLOBALS = ("_getdecoder", "_decompression_bomb_check", "DECODERS", "core")
# As they were: what is taken out and put back again stands elsewhere among a class's names
_NAMES = [(home, tuple(vars(home))) for home in HOMES]


def _now() -> list[object]:
    """Everything that is looked at, in one order."""
    return [
        *(value for home, names in _NAMES for value in map(vars(home).get, names)),
        *(len(vars(home)) for home in HOMES),
        *(getattr(Image, name, None) for name in _GLOBALS),
        Image.DECODERS.get("jpeg"),
        *(part for name in _STOOD_IN for part in _parts(vars(Image.Image)[name])),
    ]


def _parts(function: object) -> tuple[object, ...]:
    """What a program may replace inside of it."""
    return tuple(getattr(function, name, None) for name in ("__code__", "__defaults__"))


_BEFORE = _now()


def _outside() -> list[object]:
    """What of `_now` is in no class, but what is in functions."""
    return [
        *(getattr(Image, name, None) for name in _GLOBALS),
        Image.DECODERS.get("jpeg"),
        *(part for function in _FUNCTIONS for part in (function.__code__, function.__defaults__)),
    ]


_FUNCTIONS = [vars(Image.Image)[name] for name in _STOOD_IN]
# Asked at each open: whole dictionaries are compared, by identity first
_QUICK = [list(vars(home).values()) for home in HOMES], _outside()


def unchanged() -> bool:
    """Whether nothing was replaced. The profiler's clocks are no change."""
    if ([list(vars(home).values()) for home in HOMES], _outside()) == _QUICK:
        return True
    now = _now()
    return now == _BEFORE or (  # lists compare by identity first
        len(now) == len(_BEFORE) and all(map(_same, now, _BEFORE))
    )


def as_defined() -> bool:
    """Whether the defaults are those of Pillow's file, also where they were changed before."""
    methods = vars(Image.Image)
    return all(_parts(methods[name])[1] == want for name, want in _STOOD_IN.items())


def functions() -> list[tuple[FunctionType, str, str]]:
    """Pillow's functions that are looked at: each with its module and qualified name."""
    found = []
    for home in HOMES:
        for name, value in vars(home).items():
            one = value.fget if isinstance(value, property) else value
            one = one.__func__ if isinstance(one, (classmethod, staticmethod)) else one
            if isinstance(one, FunctionType):
                found.append((one, home.__module__, f"{home.__qualname__}.{name}"))
    return found


def _same(now: object, before: object) -> bool:
    if now is before:
        return True
    timed = isinstance(now, FunctionType) and now.__globals__["__name__"] == "fastload.attach.hooks"
    return timed and getattr(now, "__wrapped__", None) is before
