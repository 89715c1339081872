"""Recordings, which a change of the structure of the code leaves as they are. See `recordings.py`."""
