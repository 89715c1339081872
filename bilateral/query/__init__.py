"""Questions to the index, as functions of a connection. They return frozen dataclasses, the same on both engines."""
