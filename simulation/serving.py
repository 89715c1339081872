"""Servers that answer in a thread beside what asks them."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from socketserver import TCPServer


@contextmanager
def serve_in_thread(server: TCPServer) -> Iterator[str]:
    """Let a server answer in a thread, and close it at the end.

    Args:
        server: The server, which listens on this machine.

    Yields:
        Its URL.
    """
    # The default looks for the end twice a second, and each test would wait for that.
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
