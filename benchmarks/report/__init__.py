"""What every benchmark reports: facts of the machine, rows, tables and plots."""
