"""griffe's extension, for the reference, which is read from the source without importing:
DataLoader's docstring, which is put together while it is imported; and examples as code.
"""

import ast
import re
from typing import Any

import griffe

# Google's convention has both; griffe takes the first one for a note, and its prompts for quotes.
EXAMPLE = re.compile(r"^([ ]*)Example:$", re.MULTILINE)
# An option and its text, indented in the lines after the first.
OPTION = re.compile(r"^(\w+(?:, \w+)*):[ ]+(.*(?:\n[ ]+.*)*)", re.MULTILINE)


class ComputedDocstrings(griffe.Extension):
    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = EXAMPLE.sub(r"\1Examples:", obj.docstring.value)

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        if pkg.path != "fastload":
            return
        loader = pkg["loader.loader.DataLoader"]
        if "DOC" in pkg["loader.loader"].members:
            template = ast.literal_eval(str(pkg["loader.loader.DOC"].value)).strip()
            options = pkg["loader.options.LoaderOptions"].docstring.value
            text = template.format(options=listed(options))
            loader.docstring = griffe.Docstring(EXAMPLE.sub(r"\1Examples:", text), parent=loader)
        if loader.docstring is None:
            raise LookupError("fastload.DataLoader has no docstring that can be read from here")


def listed(options: str) -> str:
    """The options as a list of Markdown; sections of Google's convention stay what they are."""
    if re.search(r"^(Args|Attributes):$", options, re.MULTILINE):
        return options
    return OPTION.sub(lambda each: f"- `{each[1]}`: {' '.join(each[2].split())}", options)
