"""An array job for Slurm: tasks that make units, and a last one that commits."""

import shlex
import sys
from collections.abc import Sequence

from fastload.conversion.cluster.recipe import Recipe

SCRIPT = """\
#!/bin/sh
# {tasks} tasks make {units} parts; then one commits them.
# Run it where sbatch is: sh SCRIPT. Partition, time, account: SBATCH_PARTITION and the like.
# After tasks that were killed, submit it once more, or run the last command by hand.
set -e
cd {folder}
array=$(sbatch --parsable --job-name=fastload-units --cpus-per-task=1 --array=0-{last} \\
    --output=fastload-units-%A_%a.log --wrap={task})
sbatch --job-name=fastload-commit --dependency=afterany:${{array%%;*}} \\
    --output=fastload-commit-%j.log --wrap={commit}
"""


def script(recipe: Recipe, tasks: int, arguments: Sequence[str], folder: str) -> str:
    """A shell script that submits both.

    tasks: how many, at most one for each unit; arguments: of `fastload`, for the last step;
    folder: where that runs.
    """
    tasks = min(tasks, recipe.units)
    step = -(-recipe.units // tasks)
    python = shlex.quote(sys.executable)
    # Each begins at another unit
    first = f"$((SLURM_ARRAY_TASK_ID * {step}))"
    drop = shlex.quote(recipe.drop)
    task = f"{python} -m fastload.conversion.cluster.task {drop} {first}"
    commit = f"{python} -m fastload {shlex.join(arguments)}"
    return SCRIPT.format(
        tasks=tasks, units=recipe.units, last=tasks - 1,
        folder=shlex.quote(folder), task=shlex.quote(task), commit=shlex.quote(commit),
    )  # fmt: skip
