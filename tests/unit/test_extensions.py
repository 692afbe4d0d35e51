"""What other distributions add, and what a broken one cannot break."""

from pathlib import Path

import pytest

from fastload.errors import SourceError
from fastload.system.extensions import Record, Table
from tests import distributions

THEIRS = """
from fastload.system.extensions import Record
RECORD = Record('theirs', 'their_code')
"""
GROUP = "fastload.tests"


OWN = Record("own", "json", summary="fastload's own")


@pytest.fixture
def table() -> Table[Record]:
    return Table(GROUP, Record, [OWN], SourceError)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Install a distribution with these entry points and modules."""

    def install(entries, modules, name="their-package"):
        folder = distributions.write(tmp_path / name, name, {GROUP: entries}, modules)
        distributions.install(monkeypatch, folder)

    return install


def test_names_come_without_an_import(table, installed):
    installed({"theirs": "no_such_module:RECORD"}, {})
    assert list(table) == ["own", "theirs"]
    assert "theirs" in table
    assert "nobodys" not in table
    assert table.distribution("theirs") == "their-package"
    assert table.distribution("own") == ""
    with pytest.raises(KeyError):
        table["nobodys"]


def test_a_record_is_loaded_when_it_is_asked_for(table, installed):
    code = "LOADED = True\n"
    installed({"theirs": "their_facts:RECORD"}, {"their_facts": THEIRS, "their_code": code})
    assert table["own"] is OWN
    assert table["theirs"].module == "their_code"
    assert [record.name for record in table.loaded()] == ["theirs"]
    assert table.import_module("theirs").LOADED
    assert table.problems() == []


BROKEN = {
    "cannot be loaded (ModuleNotFoundError: No module named 'no_such_module'); update or uninstall "
    "their-package": ("no_such_module:RECORD", {}),
    "cannot be loaded (ZeroDivisionError: division by zero); update or uninstall their-package": (
        "their_facts:RECORD",
        {"their_facts": "1 / 0\n"},
    ),
    "is str, want Record; update or uninstall their-package": (
        "their_facts:RECORD",
        {"their_facts": "RECORD = 'theirs'\n"},
    ),
    "its record says no module; update or uninstall their-package": (
        "their_facts:RECORD",
        {"their_facts": THEIRS.replace("'theirs', 'their_code'", "'broken', ''")},
    ),
    "its record's name is 'theirs', want 'broken'; update or uninstall their-package": (
        "their_facts:RECORD",
        {"their_facts": THEIRS},
    ),
}


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_one_is_one_line_and_harms_nobody_else(table, installed, text):
    value, modules = BROKEN[text]
    installed({"broken": value}, modules)
    assert table["own"] is OWN
    assert list(table.loaded()) == []
    with pytest.raises(SourceError) as caught:
        table["broken"]
    assert str(caught.value) == f"entry point 'broken' of {GROUP} in their-package: {text}"
    assert table.problems() == [str(caught.value)]


def test_a_module_that_cannot_be_imported(table, installed):
    installed({"theirs": "their_facts:RECORD"}, {"their_facts": THEIRS})
    with pytest.raises(SourceError) as caught:
        table.import_module("theirs")
    assert str(caught.value) == (
        f"entry point 'theirs' of {GROUP} in their-package: module their_code cannot be imported "
        "(ModuleNotFoundError: No module named 'their_code'); update their-package"
    )


def test_a_module_that_lacks_its_function(table, installed):
    modules = {"their_facts": THEIRS, "their_code": "def there(): return 7\n"}
    installed({"theirs": "their_facts:RECORD"}, modules)
    assert table.function("theirs", "there")() == 7
    with pytest.raises(SourceError) as caught:
        table.function("theirs", "load")
    assert str(caught.value) == (
        f"entry point 'theirs' of {GROUP} in their-package: module their_code has no function "
        "load; update their-package"
    )


def test_names_are_taken_once(table, installed):
    installed({"own": "their_facts:RECORD"}, {"their_facts": THEIRS})
    assert table["own"] is OWN
    (problem,) = table.problems()
    assert problem == (
        f"entry point 'own' of {GROUP} in their-package: is a name of fastload's own, which is "
        "used; rename the entry point"
    )
    installed({"twice": "their_facts:RECORD"}, {}, "one-package")
    installed({"twice": "their_facts:RECORD"}, {}, "two-package")
    with pytest.raises(SourceError) as caught:
        table["twice"]
    assert "the name is there 2 times; uninstall all but one" in str(caught.value)
    assert {"one-package", "two-package"} <= set(str(caught.value).split(":")[0].split())


def test_the_path_is_read_again_when_it_changes(table, installed, tmp_path: Path):
    assert list(table) == ["own"]
    installed({"theirs": "their_facts:RECORD"}, {"their_facts": THEIRS})
    assert list(table) == ["own", "theirs"]
