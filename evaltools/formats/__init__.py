"""Readers of other tools' files, one module a format or family, and `convert`."""
