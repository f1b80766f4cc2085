"""Several runs seen together."""
