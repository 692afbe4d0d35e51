"""STORE: arithmetic of a tensor and a number, as users' functions write it."""

from dataclasses import dataclass

from fastload.spec import Spec
from fastload.transforms.base import is_number
from fastload.transforms.kinds import Values

KINDS = ("add", "sub", "rsub", "mul", "div")  # torch's; rsub: number - value


@dataclass(frozen=True)
class Arithmetic(Values):
    """Every value of a float tensor with a number. Users' functions are lowered to it."""

    kind: str
    number: float

    def problems(self, spec: Spec) -> list[str]:
        problems = [] if self.kind in KINDS else [f"kind is {self.kind!r}, want one of {KINDS}"]
        if not is_number(self.number):
            problems.append(f"number is {self.number}, want a finite one")
        if not spec.tensor or spec.dtype == "uint8":
            problems.append("images are uint8, want float; put ToTensor before it")
        return problems
