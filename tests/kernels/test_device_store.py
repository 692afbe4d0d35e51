"""STORE as the GPU runs it, on the host: the bits of NumPy and of the CPU's specification, whatever
is kept, erased and mixed.
"""

import numpy as np
import pytest

from fastload import _native as native

from .helpers import stored
from .store_helpers import CANARY, DTYPES, SIZES, Case, cases


def on_host(case):
    """The output's bytes; nothing before or behind it may be touched."""
    want = case.blank()
    memory = np.full(want.nbytes + 128, CANARY, np.uint8)
    out = memory[64:-64].view(want.dtype).reshape(want.shape)
    case.made().run_on_host(case.images, case.table, case.noise, out)
    assert (memory[:64] == CANARY).all()
    assert (memory[-64:] == CANARY).all()
    return out.reshape(-1).view(np.uint8)


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("name", DTYPES)
def test_every_kind_of_batch(name, size):
    for case in cases(5, size, name):
        np.testing.assert_array_equal(
            on_host(case),
            case.want().reshape(-1).view(np.uint8),
            err_msg=str((case.kept, case.erased)),
        )


@pytest.mark.parametrize("last", [False, True])
def test_without_a_table_the_bytes_are_stored(last):
    case = Case("uint8", 4, (13, 7), last, "each", "both")
    case.table = None
    found, case.table = on_host(case), np.tile(np.arange(256, dtype=np.uint8), (3, 1))
    np.testing.assert_array_equal(found, case.want().reshape(-1))


@pytest.mark.parametrize("kept", ["", "batch", "each"])
def test_a_batch_of_no_images(kept):
    for mixed in (False, True):
        case = Case("float16", 0, (13, 7), kept=kept, mixed=mixed)
        assert len(on_host(case)) == 0
        assert (len(case.made()), case.made().size) == (0, case.stored)


def test_what_nothing_happens_to_has_no_lists():
    made = native.DeviceStore(9, 5, 7, "float32", stored())
    assert (len(made), made.size, made.data.dtype, len(made.data)) == (9, (5, 7), np.uint8, 0)
    kept = Case("uint8", 3, (13, 7), kept="batch").made()
    assert (len(kept), kept.size, len(kept.data)) == (
        3,
        (10, 9),
        48 + 36,
    )  # rows at a multiple of 16 bytes


def given(**lists):
    return lambda: native.DeviceStore(2, 5, 7, "float32", stored(**lists))


NUMBERS = np.zeros((1, 3), np.int32)
FILLS, BOXES = np.zeros((1, 3), np.float32), np.zeros((2, 1, 4), np.int32)
KEYS, FILLING, TABLES = (
    np.zeros((2, 1), np.uint32),
    np.ones((1, 2), np.int32),
    np.zeros((1, 3, 4096), np.float32),
)
REFUSED = {
    "images (got -1 of 5x7, want at most 178956970 px each)": lambda: native.DeviceStore(-1, 5, 7,
    "uint8", stored()),
    "images (got 1 of 0x7, want at most 178956970 px each)": lambda: native.DeviceStore(1, 0, 7,
    "uint8", stored()),
    'dtype (got "int8", want uint8, float16, bfloat16 or float32)': lambda: native.DeviceStore(1, 5,
    7, "int8", stored()),
    "rows and columns (got rows only, want both or neither)": given(rows=NUMBERS),
    "columns: number (got 7, want 0..6)": given(rows=NUMBERS, columns=NUMBERS + 7),
    "rows: lists (got 3, want 1 or 2, one per sample)": given(rows=np.zeros((3, 3), np.int32),
    columns=NUMBERS),
    "images (got 2 of 20000x20000, want at most 178956970 px each)": given(
        rows=np.zeros((1, 20000), np.int32), columns=np.zeros((1, 20000), np.int32)
    ),
    "boxes and fills (got boxes only, want both or neither)": given(boxes=BOXES),
    "boxes[1][0]: top, left, height, width (got 0, 0, 4, 1, want a box inside 3x3)": given(
        rows=NUMBERS, columns=NUMBERS, boxes=BOXES + np.array([[[0]], [[1]]],
        np.int32) * np.array([0, 0, 4, 1], np.int32), fills=FILLS
    ),
    "fills: dtype (got float16, want float32)": given(boxes=BOXES, fills=FILLS.astype(np.float16)),
    "noise: keys: shape (got [2, 1], want [2, 0])": given(noise=(KEYS, FILLING, TABLES)),
    "noise: fillings[0]: no such table (got 1, want 0..0)": given(boxes=BOXES, fills=FILLS,
    noise=(KEYS, FILLING, TABLES)),
    "noise: fillings[0]: kind (got 3, want 0 (a colour), 1 (noise) or 2 (its colour))": given(
        boxes=BOXES, fills=FILLS, noise=(KEYS, FILLING * 3, TABLES)
    ),
    "noise: tables: dtype (got uint8, want float32)": given(boxes=BOXES, fills=FILLS, noise=(KEYS,
    FILLING, TABLES.astype(np.uint8))),
    "partners[1]: no such sample (got 2, want 0..1)": given(partners=np.array([[0] * 7,
    [2] + [0] * 6], np.int32)),
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_lists_that_cannot_be_are_refused(text):
    with pytest.raises(ValueError) as caught:
        REFUSED[text]()
    assert str(caught.value) == f"DeviceStore: {text}"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"table": 0}, "table (got none, want one, unless uint8 are stored)"),
        ({"noise": 0}, "noise (got none, want the tables)"),
        ({"lists": 0}, "lists (got none, want a copy of data)"),
        ({"lists": 24}, "lists (got an address at 8 beyond a multiple of 16, want a multiple)"),
    ],
)
def test_a_launch_is_checked_before_a_pointer_is_followed(arguments, text):
    made = Case("float32", 2, (5, 7), erased="noise").made()
    with pytest.raises(ValueError) as caught:
        made.launch(
            **(
                {"images": 16, "table": 16, "noise": 16, "lists": 16, "out": 16, "stream": 0}
                | arguments
            )
        )
    assert str(caught.value) == f"DeviceStore.launch: {text}"


@pytest.mark.skipif(native.cuda_built, reason="this build has CUDA kernels")
def test_a_build_without_kernels_says_so():
    with pytest.raises(RuntimeError) as caught:
        native.DeviceStore(1, 4, 4, "uint8", stored()).launch(0, 0, 0, 0, 0, 0)
    assert (
        str(caught.value)
        == "DeviceStore.launch: this build has no CUDA kernels; build with -DFASTLOAD_CUDA=ON"
    )


def test_the_host_is_given_arrays_that_fit():
    case = Case("float16", 2, (13, 7), erased="noise")
    made, out = case.made(), case.blank()
    for arguments, text in [
        (
            (case.images[:1], case.table, case.noise, out),
            "images: shape (got [1, 13, 7, 3], want [2, 13, 7, 3])",
        ),
        (
            (case.images, case.table, case.noise, out[:1]),
            "out: shape (got [1, 3, 13, 7], want [2, 3, 13, 7])",
        ),
        (
            (case.images, case.table.view(np.uint16), case.noise, out.view(np.uint16)),
            "out: dtype (got uint16, want the object's)",
        ),
        ((case.images, case.table, case.noise[:1], out), "noise (got 24576 bytes, want 49152)"),
        ((case.images, case.table, None, out), "noise (got none, want the tables)"),
    ]:
        with pytest.raises(ValueError) as caught:
            made.run_on_host(*arguments)
        assert (
            str(caught.value)
            .replace(": noise (", " noise (", 1)
            .removeprefix("DeviceStore.run_on_host")
            .lstrip(": ")
            == text
        )


def test_boxes_that_cover_each_other_are_filled_in_order():
    boxes = np.array([[[0, 0, 5, 7], [1, 1, 3, 5], [2, 2, 1, 3]]] * 2, np.int32)
    fills = np.array([[10, 11, 12], [20, 21, 22], [30, 31, 32]], np.uint8)
    made = native.DeviceStore(
        2, 5, 7, "uint8", stored(channels_last=True, boxes=boxes, fills=fills)
    )
    out = np.zeros((2, 5, 7, 3), np.uint8)
    made.run_on_host(np.zeros((2, 5, 7, 3), np.uint8), None, None, out)
    assert out[0, ..., 0].tolist() == [
        [10] * 7,
        [10, *[20] * 5, 10],
        [10, 20, 30, 30, 30, 20, 10],
        [10, *[20] * 5, 10],
        [10] * 7,
    ]
