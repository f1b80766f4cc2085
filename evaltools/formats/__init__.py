"""Readers of other tools' files: one file a format, and `convert`, which writes what they read as ours."""
