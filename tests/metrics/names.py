"""Names of the table, by when there is a value."""

from fastload.metrics.names import METRICS

# Of a loader that has no store and no plan
ALWAYS = {one.name for one in METRICS if "_store_" not in one.name and "_run_" not in one.name}
