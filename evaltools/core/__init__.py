"""What everything rests on: errors, files, the metric table, suites and results."""
