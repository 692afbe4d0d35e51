"""Whether the library code that native code replaces is what the library's files define, and was
not patched.

All that a call can reach is compared: the names that its code mentions, in its class, in its
globals, in the modules and registries among these, and in Pillow's image. A call's code is followed
through torchvision, timm, Pillow and PyTorch's loader. What it calls in torch, NumPy and Python is
not compared.
"""

import sys
from collections.abc import Callable, Hashable
from functools import partial
from types import FunctionType

from fastload.lowering.codes import codes, is_defined, is_library, library
from fastload.lowering.lookup import MISSING, facts, find_attribute, same, shown
from fastload.lowering.steps import Called, Difference, Entry, Key, Method, Registry, Step

Reasons = list[str]


class Known:
    """Everything that has been looked at in this process, each object once."""

    def __init__(self) -> None:
        self.reasons: dict[type | FunctionType, Reasons] = {}
        self.steps: dict[Hashable, Step] = {}
        self.spaces: dict[Key, Entry] = {}
        self.methods: dict[Key, Method] = {}
        self.functions: dict[FunctionType, tuple[object, ...]] = {}
        self.registries: dict[int, Registry] = {}

    def find(self, root: type | FunctionType) -> Reasons:
        """Why a call of it is not what its library's files say.

        Every step that it leads to is made once and kept.
        """
        first = self._step(root, lambda: Step.of(root))
        reached, seen, todo = [first], set[Called](), list(first.next)
        kernels = set[tuple[int, FunctionType]]()
        while todo:
            call = todo.pop()
            if call not in seen:
                seen.add(call)
                reached.append(self._step(call, partial(Step.of_call, *call)))
                todo += reached[-1].next
            if todo:
                continue
            registries = {
                number: held for step in reached for number, held in step.registries.items()
            }
            for number, (name, registry, _) in registries.items():
                for key in {function for function, _ in seen if function in registry}:
                    if (number, key) not in kernels:
                        kernels.add((number, key))
                        make = partial(
                            Step.of_registry, f"{name}[{key.__qualname__}]", registry[key]
                        )
                        reached.append(self._step((number, key), make))
                        todo += reached[-1].next
        reasons = dict.fromkeys(
            _reason(root, difference) for step in reached for difference in step.differences
        )
        return list(reasons)

    def _step(self, key: Hashable, make: Callable[[], Step]) -> Step:
        if key not in self.steps:
            step = self.steps[key] = make()
            self.spaces |= step.spaces
            self.methods |= step.methods
            self.functions |= step.functions
            self.registries |= step.registries
        return self.steps[key]

    def still(self) -> bool:
        """Whether everything is still what it was. Takes less than 1 ms."""
        return (
            all(
                space.get(name, MISSING) is value
                for space, name, value in list(self.spaces.values())
            )
            and all(
                find_attribute(kind, name)[0] is value
                for kind, name, value in list(self.methods.values())
            )
            and all(len(registry) == count for _, registry, count in list(self.registries.values()))
            and all(same(held, facts(function)) for function, held in list(self.functions.items()))
        )


def _reason(root: type | FunctionType, difference: Difference) -> str:
    if difference.kind is root:
        return f"{shown(root)} has its own {difference.method}"
    return f"{shown(root)} calls {difference.name}, which is {shown(difference.value)}"


_process = [Known()]  # one, which threads read and replace


def refresh() -> None:
    """Forget all that is known, if anything of it was patched since.

    To be called before `changed` is asked.
    """
    if not _process[0].still():
        _process[0] = Known()


def changed(of: type | FunctionType) -> Reasons:
    """Why a call of it is not what its library's files say."""
    known = _process[0]
    if of not in known.reasons:
        known.reasons[of] = known.find(of)
    return known.reasons[of]


def unread() -> list[str]:
    """Modules that were to be compared, and whose files cannot be read."""
    homes = {str(function.__globals__.get("__name__")) for function in list(_process[0].functions)}
    return sorted(name for name in homes if library(name) and codes(name) is None)


def is_whole(value: object) -> bool:
    """Whether it is a function of a library's, inner ones too, that calls what the library's files
    say.
    """
    return isinstance(value, FunctionType) and is_library(value) and not changed(value)


def is_function(value: object, module: str, name: str) -> bool:
    """Whether it is the function that the module's file defines; where that cannot be read, the one
    that has its name.
    """
    space = vars(sys.modules[module])
    if codes(module) is None:
        return value is space.get(name)
    return (
        type(value) is FunctionType
        and value.__globals__ is space
        and is_defined(value, module, name)
    )
