"""Do something as soon as a module has been imported, without importing it."""

import importlib.abc
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

Action = Callable[[ModuleType], object]


def after(actions: Mapping[str, Action]) -> None:
    """Call actions[name](module) for each module: at once where it is imported already, else after
    its import.
    """
    for name, action in actions.items():
        if name in sys.modules:
            action(sys.modules[name])
    later = {name: action for name, action in actions.items() if name not in sys.modules}
    if later:
        sys.meta_path.insert(0, _Finder(later))


def forget() -> None:
    """No more actions."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]


class _Finder(importlib.abc.MetaPathFinder):
    """Finds what the others find, and adds the action to its loader."""

    def __init__(self, actions: dict[str, Action]) -> None:
        self.actions = actions
        self._asking: set[str] = set()

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in self.actions or name in self._asking:
            return None
        self._asking.add(name)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._asking.discard(name)
        if spec is not None and spec.loader is not None:
            _add(spec.loader, self.actions[name])
        return spec


def _add(loader: importlib.abc.Loader, action: Action) -> None:
    run = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        run(module)
        try:
            action(module)
        # Another version of the library: the program's import must not fail
        except Exception as error:  # noqa: BLE001
            print(
                f"fastload: profile: {module.__name__} is not measured ({error!r})", file=sys.stderr
            )

    loader.exec_module = exec_module  # type: ignore[method-assign]
