"""What the GPU's decoder leaves to the CPU, and arguments that it refuses."""

import numpy as np
import pytest

from fastload import _native as native

from .device_helpers import aligned, crops_of, decode_work, job_of, on_cpu, packed
from .helpers import encoded, jpeg, scene
from .jpeg_writer import Writer
from .test_jpeg_engine import FACTORS

block = pytest.importorskip(
    "fastload._test_block", reason="needs a build with FASTLOAD_TEST_MODULES"
)


def four_tables():
    """Components with tables of their own: three for DC, two for AC. libjpeg takes them, and there
    is an index.
    """
    data = Writer(24, 24, FACTORS["4:4:4"], sof=0xC1).encode()
    at, scan = data.index(b"\xff\xc4"), data.index(b"\xff\xda")
    length = int.from_bytes(data[at + 2 : at + 4], "big") + 2
    dc, ac = data[at : at + length], data[at + length : scan]
    more = b"".join(
        table[:4] + bytes([table[4] + n]) + table[5:] for table, n in ((dc, 1), (dc, 2), (ac, 1))
    )
    head = bytearray(data[:scan] + more + data[scan:])
    at = scan + len(more) + 5
    head[at + 1], head[at + 3], head[at + 5] = 0x00, 0x11, 0x20
    return bytes(head)


def test_what_is_not_for_the_device_says_why(tmp_path):
    plain, others = jpeg(scene(40, 50)), four_tables()
    index = native.jpeg_index(plain, 4)
    cases = [
        (plain, index, ""),
        (plain, b"", "no seek index"),
        (encoded(scene(40, 50), "BMP"), index, "not to be decoded"),
        (plain, index[:-1], "index refused: damaged"),
        (jpeg(scene(40, 50, 1)), index, "index refused: of a file of another size"),
        (
            jpeg(scene(40, 50), progressive=True),
            index,
            "not covered: progressive, lossless, hierarchical or arithmetic coding",
        ),
        (
            jpeg(scene(40, 50), restart_marker_blocks=2),
            index,
            "index refused: of a file of another size",
        ),
        (
            others,
            native.jpeg_index(others, 4),
            "not covered: too many Huffman tables for the device",
        ),
        (plain, index, "decoded at a part of its size"),
        (plain, index, "not covered: nothing of the image is seen"),
        (plain, index, "not encoded"),
    ]
    job = job_of(tmp_path, [case[0] for case in cases], [case[1] for case in cases])
    crops = crops_of([(0, 0, 24, 24)] * len(cases), 16, 16)
    crops[8, 9] = 2
    crops[9, 6] = 16
    job.set_pixels(10, scene(40, 50))
    work = decode_work(job, crops, "bilinear", 16, 16)
    work.wait()
    assert work.reasons == [case[2] for case in cases]


def test_what_does_not_fit_into_the_memory_is_left_to_the_cpu(tmp_path):
    payloads = [jpeg(scene(40, 50, n), "4:4:4") for n in range(4)]
    job = job_of(tmp_path, payloads, [native.jpeg_index(data, 4) for data in payloads])
    crops = crops_of([(0, 0, 40, 50), (0, 0, 8, 8), (0, 0, 40, 50), (0, 0, 8, 8)], 16, 16)
    work = decode_work(job, crops, "bilinear", 16, 16)
    work.wait()
    work.choose(np.arange(4))
    whole = work.scratch
    tight = decode_work(job, crops, "bilinear", 16, 16, most=whole - 1)
    tight.wait()
    assert tight.reasons == ["", "", "", "no memory left"]
    none = decode_work(job, crops, "bilinear", 16, 16, most=0)
    none.wait()
    assert none.reasons == ["no memory left"] * 4


def test_a_job_passes_over_what_is_put_aside(tmp_path):
    payloads = [jpeg(scene(40, 50, n)) for n in range(4)]
    job = job_of(tmp_path, payloads, [b""] * 4)
    crops = crops_of([(3, 4, 30, 40)] * 4, 12, 10)
    want = on_cpu(job_of(tmp_path, payloads, [b""] * 4), crops, "bilinear", 12, 10, "pillow13")
    job.put_aside(np.array([0, 1, 1, 0], np.uint8))
    found = on_cpu(job, crops, "bilinear", 12, 10, "pillow13")
    np.testing.assert_array_equal(found[[0, 3]], want[[0, 3]])
    assert not found[[1, 2]].any()
    job.put_aside(np.array([0, 0, 1, 0], np.uint8))
    again = on_cpu(job, crops, "bilinear", 12, 10, "pillow13")
    np.testing.assert_array_equal(again[1], want[1])
    assert not again[[0, 2, 3]].any()  # they were stored before


def made(tmp_path):
    payloads = [jpeg(scene(40, 50, n)) for n in range(3)]
    job = job_of(
        tmp_path,
        payloads,
        [native.jpeg_index(payloads[0], 4), b"", native.jpeg_index(payloads[2], 4)],
    )
    return decode_work(job, crops_of([(3, 4, 30, 40)] * 3, 12, 10), "bilinear", 12, 10)


def test_without_threads_the_caller_does_it(tmp_path):
    job = job_of(
        tmp_path,
        [jpeg(scene(40, 50))],
        [native.jpeg_index(jpeg(scene(40, 50)), 4)],
        pool := native.Pool(0),
    )
    work = decode_work(job, crops_of([(3, 4, 30, 40)], 12, 10), "bilinear", 12, 10)
    work.wait()
    assert block.decode(packed(work, np.zeros(1, np.int64)), np.arange(5, dtype=np.int32), 1)[
        1
    ].tolist() == [0]
    assert pool.threads == 0


def test_arguments_that_cannot_work_are_refused(tmp_path):
    job = job_of(tmp_path, [jpeg(scene(40, 50))], [b""])
    crops, beyond = crops_of([(0, 0, 40, 50)], 12, 10), crops_of([(0, 0, 41, 50)], 12, 10)
    outside = "the box leaves the image (got top 0, left 0, size 41x50, want a box inside 40x50)"
    for arguments, text in [
        ((beyond, "box", 12, 10), f"DeviceDecode: crops[0]: {outside}"),
        ((crops, "box", 0, 10), "DeviceDecode: size (got 0x10, want 1..178956970 px)"),
        ((crops, "cubic", 12, 10), ('filter: unknown (got "cubic", want nearest, box, bilinear, '
                                   'hamming, bicubic or lanczos)')),
        ((crops, np.array([6], np.int32), 12, 10), ("DeviceDecode: filter[0]: number (got 6, want "
                                                   "0 to 5)")),
        ((crops, "box", 12, 10, "pillow11"), ('order: unknown (got "pillow11", want pillow12, '
                                             'pillow12.2 or pillow13)')),
        ((crops, "box", 12, 10, "pillow13", -1), ("DeviceDecode: most (got -1, want 0 bytes or "
                                                 "more)")),
        ((crops[:0], "box", 12, 10), "DeviceDecode: crops: shape (got [0, 10], want [1, 10])"),
    ]:  # fmt: skip
        with pytest.raises(ValueError) as caught:
            decode_work(job, *arguments)
        assert str(caught.value) == text


def test_places_that_cannot_be_chosen_are_refused(tmp_path):
    work = made(tmp_path)
    work.wait()
    for places, text in [
        (
            [1],
            (
                "DeviceDecode.choose: positions[0]: not for the device (got no seek index, want "
                "a sample without a reason)"
            ),
        ),
        (
            [0, 0],
            "DeviceDecode.choose: positions[1]: out of order or no such sample (got 0, want 1..2)",
        ),
        (
            [3],
            "DeviceDecode.choose: positions[0]: out of order or no such sample (got 3, want 0..2)",
        ),
        (
            [-1],
            "DeviceDecode.choose: positions[0]: out of order or no such sample (got -1, want 0..2)",
        ),
    ]:
        with pytest.raises(ValueError) as caught:
            work.choose(np.array(places, np.int64))
        assert str(caught.value) == text
    for call, name in (
        (lambda: work.nbytes, "nbytes"),
        (lambda: work.pack(aligned(1)), "pack"),
        (lambda: work.launch(0, 0, 0, 0, 0), "launch"),
    ):
        with pytest.raises(RuntimeError) as caught:
            call()
        assert str(caught.value) == f"DeviceDecode.{name}: no samples are chosen; call choose first"


def test_launches_that_cannot_work_are_refused(tmp_path):
    work = made(tmp_path)
    work.wait()
    work.choose(np.array([0, 2], np.int64))
    for arguments, text in [
        ((8, 0, 0, 0, 0), "data (got an address at 8 beyond a multiple of 16, want a multiple)"),
        ((0, 1, 0, 0, 0), "scratch (got an address at 1 beyond a multiple of 16, want a multiple)"),
        ((0, 0, 0, 2, 0), "flags (got an address at 2 beyond a multiple of 4, want a multiple)"),
    ]:
        with pytest.raises(ValueError) as caught:
            work.launch(*arguments)
        assert str(caught.value) == f"DeviceDecode.launch: {text}"
    with pytest.raises(ValueError) as caught:
        work.pack(aligned(work.nbytes + 1))
    assert (
        str(caught.value)
        == f"DeviceDecode.pack: out: shape (got [{work.nbytes + 1}], want [{work.nbytes}])"
    )
    with pytest.raises(ValueError) as caught:
        work.pack(aligned(work.nbytes + 1)[1:])
    assert (
        str(caught.value)
        == "DeviceDecode.pack: out (got an address at 1 beyond a multiple of 16, want a multiple)"
    )


@pytest.mark.skipif(native.cuda_built, reason="this build has CUDA kernels")
def test_a_build_without_kernels_says_how_to_get_them(tmp_path):
    work = made(tmp_path)
    work.wait()
    work.choose(np.array([0], np.int64))
    with pytest.raises(RuntimeError) as caught:
        work.launch(0, 0, 0, 0, 0)
    assert (
        str(caught.value)
        == "DeviceDecode.launch: this build has no CUDA kernels; build with -DFASTLOAD_CUDA=ON"
    )
