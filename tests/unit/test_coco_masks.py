"""What an annotation file may ask pycocotools to take memory for."""

import pytest

from fastload.joint.coco import LONGEST, check_masks

SIZE = (30, 40)
FINE = {
    "none": None,
    "polygons": [[1, 2, 30, 4, 5.5, 6], [0, 0, 40, 0, 40, 30]],
    "a little beyond": [[-3, -2, 45, 4, 20, 33]],
    "an RLE": {"size": [30, 40], "counts": [0, 1100, 100]},
    "a compressed RLE": {"size": [30, 40], "counts": "`U1"},
    "RLEs in a list": [{"size": [30, 40], "counts": [1200]}],
    "no polygon": [[1, 2, 3], "text", []],
    "no counts": {"size": [30, 40], "counts": ["text"]},
}
WRONG = {
    "far": ([[1e9, 1e9, -1e9, 5, 3, 1e9]], "polygon of object 1 is .*e.09 px long"),
    "not a number": ([[float("nan"), 1, 2, 3, 4, 5]], "polygon of object 1 is nan px long"),
    "endless": ([[1, 1, 2, float("inf"), 3, 3]], "polygon of object 1 is (inf|nan) px long"),
    "back and forth": ([[0, 0, LONGEST / 2, 0] * 3], "polygon of object 1 is .* px long"),
    "second": ([[1, 1, 2, 2, 3, 1], [0, 0, 1e300, 0, 1, 1]], "polygon of object 1 is"),
    "a large RLE": (
        {"size": [10**6, 10**6], "counts": "z"},
        r"RLE of object 1 has 1000000x1000000 px \(want 30x40\)",
    ),
    "a negative RLE": ({"size": [-1, 40], "counts": [3]}, "RLE of object 1 has -1x40 px"),
    "an RLE without a size": ({"counts": [3]}, "RLE of object 1 has no height and width"),
    "an RLE of three sides": (
        {"size": [10**6, 10**6, 1], "counts": [3]},
        "RLE of object 1 has no height and width",
    ),
    "a side that is a bool": (
        {"size": [True, 1 << 40], "counts": [3]},
        "RLE of object 1 has no height and width",
    ),
    "a large RLE in a list": (
        [{"size": [10**6, 10**6], "counts": [3]}],
        "RLE of object 1 has 1000000x1000000 px",
    ),
    "an RLE of the turned image": (
        {"size": [40, 30], "counts": [1200]},
        r"RLE of object 1 has 40x30 px \(want 30x40\)",
    ),
    "counts that end before": (
        {"size": [30, 40], "counts": [0, 10]},
        r"counts of object 1 cover 10 px \(want 1200 px\)",
    ),
    "compressed counts that end before": (
        {"size": [30, 40], "counts": "05"},
        r"counts of object 1 cover 5 px \(want 1200 px\)",
    ),
    "compressed counts without an end": (
        {"size": [30, 40], "counts": "`U"},
        r"counts of object 1 are damaged \(want 1200 px\)",
    ),
    "a number too many": ([[0, 0, 1e9, 1e9, 5]], r"polygon of object 1 is 2e\+09 px long"),
    "a box": ([[1e9, 1e9, 1e9, 1e9]], r"polygon of object 1 is 4e\+09 px long"),
}


@pytest.mark.parametrize("name", FINE)
def test_what_an_image_may_have(name):
    check_masks([{"segmentation": FINE[name]}, {}], SIZE)


@pytest.mark.parametrize("name", WRONG)
def test_what_no_image_has(name):
    outline, text = WRONG[name]
    with pytest.raises(ValueError, match=text):
        check_masks([{"segmentation": FINE["polygons"]}, {"segmentation": outline}], SIZE)
