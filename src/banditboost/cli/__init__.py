"""The command line: one file a command, and the reports that commands write. Start at `app.py`."""
