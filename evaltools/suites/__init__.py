"""The suites that come with the package."""
