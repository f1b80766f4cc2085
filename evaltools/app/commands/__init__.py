"""The commands of the command line, a file each. What they do is imported when they are called."""
