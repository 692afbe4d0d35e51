"""What docs/dali.md says of DALI's pixels."""

from pathlib import Path


def stated() -> dict[str, tuple[float, float]]:
    """The page's table: name, and the largest and the mean difference to native, of 255."""
    page = (Path(__file__).parents[2] / "docs" / "dali.md").read_text()
    lines = page.partition("\n## How far")[2].splitlines()
    cells = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.count("|") == 5
    ]
    return {
        name: (float(most), float(mean))
        for name, most, mean, _ in cells
        if most.replace(".", "").isdigit()
    }


STATED = stated()
