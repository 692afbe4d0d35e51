"""How a transform of torchvision names its filter: by an InterpolationMode, by Pillow's number, or
by a text, which its second API takes since 0.29.
"""

from inspect import signature


def takes(transform: object, text: str) -> bool:
    """Whether it takes this text for a filter: its class does where its own default is a text, and
    wants small letters.
    """
    default = signature(type(transform)).parameters["interpolation"].default
    return isinstance(default, str) and text.islower()
