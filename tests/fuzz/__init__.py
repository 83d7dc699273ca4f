"""Mutation fuzzing of everything that reads files: ``python -m tests.fuzz --files 200000``.

Valid files are changed at random, byte by byte and with knowledge of zip and JSON, and read again in this process. A reader may
return, or raise a ValueError or OSError of one line. Anything else is a finding: another exception, more than two seconds, more
than 500 MB, the call of a function that the file names, an opened file or started program that has nothing to do with reading.
"""
