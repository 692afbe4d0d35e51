"""What a user declares of values beside images, and what becomes of their bytes."""

import io
import re

import numpy as np
import pytest

from fastload.errors import SourceError
from fastload.sources import field_arrays, field_types, npy

VECTOR = np.array([0.5, -1.25, 3], np.float32)


def npy_of(array, **options):
    out = io.BytesIO()
    np.lib.format.write_array(out, np.asarray(array), **options)
    return out.getvalue()


def decoded(kind, declared, data):
    wanted = None if declared is None else field_types.parsed("x", declared)
    return field_types.decoder(kind, wanted)[1](data)


@pytest.mark.parametrize(
    ("given", "text", "numbers", "shape"),
    [
        ("text", "text", "", ()),
        ("int", "int", "int64", ()),
        ("float", "float", "float64", ()),
        ("float32[512]", "float32[512]", "float32", (512,)),
        ("int64[2, 3]", "int64[2,3]", "int64", (2, 3)),
        ("bool[]", "bool[]", "bool", ()),
    ],
)
def test_types(given, text, numbers, shape):
    found = field_types.parsed("x", given)
    assert (str(found), found.numbers, found.shape) == (text, numbers, shape)


@pytest.mark.parametrize(
    "given",
    [
        "str", "", "float32", "float32[-1]", "float32[0]", "complex64[2]", "object[1]", "<f4[2]",
        "float32[1,2,3,4,5,6,7,8,9]", "uint8[999999,999999]", 5, None, "float32[2]\n", "int32[²]",
        "int32[٣]",
    ],
)  # fmt: skip
def test_what_is_no_type(given):
    with pytest.raises(SourceError) as error:
        field_types.parsed("vec", given)
    assert str(error.value) == (
        f"target: 'vec' is of type {given!r} (want text, json, bytes, int, float, or numbers with "
        "their shape, such as 'float32[512]' or 'int64[]'); correct it"
    )
    assert not field_types.is_type(given)


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("bytes", VECTOR.tobytes()),
        ("bytes", npy_of(VECTOR)),
        ("bytes", npy_of(VECTOR.astype(">f8"), version=(2, 0))),
        ("bytes", npy_of(VECTOR.astype(np.float16))),
        ("json", b"[0.5, -1.25, 3]"),
        ("text", b" [0.5,-1.25,3.0] "),
        ("ended json", b"[0.5, -1.25, 3]\0garbage"),
        ("number <f4 3", VECTOR.tobytes()),
        ("numbers <f8", VECTOR.astype("<f8").tobytes()),
        ("mds float32 -", bytes([1 << 2, 3]) + VECTOR.tobytes()),
        ("mds - 3", bytes([34]) + VECTOR.tobytes()),
        ("mds - -", bytes([34, 1 << 2 | 1, 3, 0]) + VECTOR.tobytes()),
        ("torch", np.array([0, 1, 3], "<u4").tobytes() + VECTOR.tobytes()),
        ("numpy", np.array([9, 1, 3], "<u4").tobytes() + VECTOR.tobytes()),
    ],
)
def test_one_array_in_many_ways(kind, data):
    assert field_types.misfit(kind, field_types.parsed("x", "float32[3]")) == ""
    found = decoded(kind, "float32[3]", data)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, VECTOR)
    for cut in (data[:-1], data + b"\0", data[:1], b""):
        if not kind.endswith("json") and kind != "text":
            with pytest.raises(ValueError, match=r"."):
                decoded(kind, "float32[3]", cut)


def test_order_and_axes_of_files():
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    for one in (array, np.asfortranarray(array)):
        np.testing.assert_array_equal(decoded("bytes", "int32[2,3]", npy_of(one)), array)
    assert decoded("bytes", "int64[]", npy_of(np.int8(5))) == 5
    with pytest.raises(ValueError, match=re.escape("got int32[2, 3]")):
        decoded("bytes", "int32[6]", npy_of(array))


@pytest.mark.parametrize(
    ("kind", "declared", "data", "want"),
    [
        ("text", "int", b" -12\n", -12),
        ("bytes", "float", b"1e-3", 1e-3),
        ("json", "float", b"-inf", -np.inf),
        ("varint", "int", b"\x96\1", 150),
        ("varint", "float", b"\x96\1", 150.0),
        ("varints", "int32[3]", b"\1\x96\1\0", [1, 150, 0]),
        ("number <i2", "int", b"\xff\xff", -1),
        ("number |u1", "bool[]", b"\1", True),
        ("json", "bool[2]", b"[true, false]", [True, False]),
        ("json", "int8[2,2]", b"[[1, 2], [3, 4]]", [[1, 2], [3, 4]]),
        ("int", None, b"77", 77),
        ("float", None, b"7.5", 7.5),
        ("numbers <f4", None, VECTOR.tobytes(), [0.5, -1.25, 3.0]),
        ("json", "text", b"[1]", "[1]"),
        ("bytes", "json", b"[1]", [1]),
        ("text", "bytes", b"x", b"x"),
        ("ended json", None, b'{"a": 1}\0', {"a": 1}),
    ],
)
def test_values(kind, declared, data, want):
    found = decoded(kind, declared, data)
    assert (found.tolist() if isinstance(found, np.ndarray) else found) == want


@pytest.mark.parametrize(
    ("kind", "declared", "data", "why"),
    [
        ("text", "int", b"1_000", "b'1_000'"),
        ("text", "int", "١".encode(), "b'"),
        ("text", "int", b"9223372036854775808", "9223372036854775808 is no int64"),
        ("text", "int", b"1.0", "b'1.0'"),
        ("text", "float", b"0x10", "b'0x10'"),
        ("text", "float", b"1" * 200, "b'1"),
        ("json", "int64[2]", b"[1, 2.5]", "got float64[2]"),
        ("json", "int8[2]", b"[1, 200]", "200 is no int8"),
        ("json", "uint8[1]", b"[-1]", "-1 is no uint8"),
        ("json", "float16[1]", b"[1e30]", "1e+30 is no float16"),
        ("json", "float32[2]", b"[[1], [2, 3]]", "in all [2]"),
        ("json", "float32[2]", b'["' + b"x" * 9999 + b'", "y"]', "want lists of numbers"),
        ("json", "int32[2]", b"[true, 1]", "want lists of numbers"),
        ("json", "int8[1,2]", b"[[1, 2], [3, 4]]", "in all [1, 2]"),
        ("json", "float32[2]", b'["1", "2"]', "want lists of numbers"),
        ("json", "float32[2]", b'{"a": 1}', "want lists of numbers"),
        ("json", "float32[2]", b"[]", "want lists of numbers"),
        ("json", "int64[1]", b"[99999999999999999999]", "want lists of numbers"),
        ("json", "float32[2]", b"[1, null]", "want lists of numbers"),
        ("bytes", "bool[2]", b"\0\2", "2 is no bool"),
        ("bytes", "float32[2]", b"\x93NUMPY\1\0", "its header says no plain numbers"),
        ("bytes", "float32[2]", b"\x93NUMPY\3\0\0\0", "not NumPy's format 1.0 or 2.0"),
        ("torch", "float32[1]", np.array([10, 0], "<u4").tobytes(), "unknown type (0a 00 00 00)"),
        ("torch", "float32[1]", np.array([0, 9999], "<u4").tobytes(), "a shape of 9999 axes"),
        ("mds - -", "float32[1]", b"\1\4\1abcd", "unknown type (01)"),
        ("number <f4", None, b"123", "got 3 bytes, want 4"),
        ("varints", "int64[1]", b"\x80", "80"),
    ],
)
def test_bytes_that_are_something_else(kind, declared, data, why):
    with pytest.raises(ValueError, match=re.escape(why)):
        decoded(kind, declared, data)


def test_deep_json_ends():
    with pytest.raises((RecursionError, ValueError)):
        decoded("json", "float32[1]", b"[" * 100_000)


def header(said, data=b"\0" * 8):
    text = said.encode()
    return npy.MAGIC + b"\1\0" + len(text).to_bytes(2, "little") + text + data


GOOD = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"


@pytest.mark.parametrize(
    "said",
    [
        GOOD.replace("<f4", "|O"), GOOD.replace("<f4", "<U2"), GOOD.replace("(2,)", "(1 << 60,)"),
        GOOD.replace("(2,)", "(2, 99999999999)"), GOOD.replace("False", "__import__('os')"),
        GOOD.replace("<f4", "<f7"), GOOD.replace("(2,)", "(-2,)"), GOOD + " " * 5000, "{}", "",
        GOOD.replace("'<f4'", "[('a', '<f4')]"),
    ],
)  # fmt: skip
def test_headers_of_files_that_are_no_plain_numbers(said):
    assert npy.array(header(GOOD)).tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match=r"."):
        npy.array(header(said))


@pytest.mark.parametrize(
    ("kind", "declared", "why"),
    [
        ("number <f4", "int", "holds float32, and int is declared"),
        ("number <f4 2,3", "float32[6]", "holds float32[2, 3], and float32[6] is declared"),
        ("varint", "text", "holds int64, no text"),
        ("numbers <f4", "json", "holds float32, no json"),
        ("torch", "text", "holds arrays, no text"),
        ("number <f8", "float32[]", ""),
        ("varints", "int32[3]", ""),
        ("bytes", "int", ""),
        ("ended json", "float32[3]", ""),
    ],
)
def test_types_that_do_not_fit(kind, declared, why):
    assert field_types.misfit(kind, field_types.parsed("x", declared)) == why


def test_types_that_have_numbers():
    names = {*field_arrays.TORCH_TYPES.values(), *field_arrays.NUMPY_TYPES.values()}
    for name in names | set(field_arrays.MDS_TYPES.values()):
        assert np.dtype(name).kind in "iuf"
