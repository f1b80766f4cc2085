"""Readers of other tools' files: one file a format or family, and `convert`, which writes what they read as ours."""
