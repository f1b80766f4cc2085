"""What an interval speaks for, as phrases that pages and files show."""

THIS_SYSTEM = "new samples, this system"
"""Of one run: what to expect of the same system on other samples."""

NEW_SEEDS = "new seeds and new samples"
"""Over seeds: what to expect of another seed on other samples."""

THESE_SYSTEMS = "new samples, these systems"
"""Of a difference of one run each."""

THESE_SEEDS = "new samples, these seeds"
"""Of a difference where one side has one seed only."""
