"""Which samples an epoch has, and in what order: samplers, ranks, batches by size, seeds."""
