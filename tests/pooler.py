"""A small pooler of transactions, as PgBouncer is: clients share few connections to PostgreSQL, by turns.

No package of PyPI or npm ships a pooler. This one speaks the protocol (version 3) just as far as libpq needs it. As
PgBouncer does, it opens the server's connections itself, gives each client a key of its own, refuses start-up options
that it does not know, and passes the server on at the end of each transaction, with whatever is left in its session.
"""

from __future__ import annotations

import queue
import select
import socket
import struct
import threading
from itertools import count

from sqlalchemy import make_url

_KNOWN_OPTIONS = {"user", "database", "application_name", "client_encoding", "DateStyle", "TimeZone"}
_END = (b"X", b"")
_ANSWERED = (b"Q", b"S")
"""The messages of a client that the server answers by its readiness: a query, and the end of extended ones."""

_SSL, _GSS, _CANCEL = 80877103, 80877104, 80877102


class Pooler:
    """Listens on a port of this machine until it is closed.

    Args:
        url: The URL of the database.
        size: The connections to the server. A client that holds one transaction and begins another needs two.
    """

    def __init__(self, url, size=1):
        self._url = make_url(url)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._idle = queue.LifoQueue()
        self._keys = count(2**30)
        self._servers = []
        for _ in range(size):
            server, self._greeting = self._open_server()
            self._servers.append(server)
            self._idle.put(server)
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self):
        """The URL of the database through the pooler."""
        port = self._listener.getsockname()[1]
        return self._url.set(host="127.0.0.1", port=port, query={}).render_as_string(hide_password=False)

    def close(self):
        for connection in (self._listener, *(server.socket for server in self._servers)):
            connection.close()

    def _open_server(self):
        """Start a session, and return it with what the server says about itself."""
        folder = self._url.query.get("host")
        if folder:
            server = socket.socket(socket.AF_UNIX)
            server.connect(f"{folder}/.s.PGSQL.{self._url.port or 5432}")
        else:
            server = socket.create_connection((self._url.host, self._url.port or 5432))
        options = f"user\0{self._url.username}\0database\0{self._url.database}\0client_encoding\0UTF8\0\0".encode()
        server.sendall(struct.pack("!ii", 8 + len(options), 3 << 16) + options)
        greeting = b""
        peer = _Peer(server)
        while True:
            peer.wait()
            for kind, message in peer.taken():
                assert kind != b"E", message
                greeting += message if kind == b"S" else b""
                if kind == b"Z":
                    return peer, greeting

    def _accept(self):
        try:
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()
        except OSError:  # it is closed
            return

    def _serve(self, client):
        with client:
            try:
                if self._greet(client):
                    peer = _Peer(client)
                    while self._lend(peer):
                        pass
            except OSError:  # the client is gone
                return

    def _greet(self, client):
        """Accept a client, without a password, and return False if its options are refused."""
        while True:
            (size,) = struct.unpack("!i", _exactly(client, 4))
            body = _exactly(client, size - 4)
            (code,) = struct.unpack("!i", body[:4])
            if code == _CANCEL:
                return False
            if code not in (_SSL, _GSS):
                break
            client.sendall(b"N")
        names = body[4:].decode().split("\0")[::2]
        if unknown := [name for name in names if name and name not in _KNOWN_OPTIONS]:
            text = f"SFATAL\0C08P01\0Munsupported startup parameter: {unknown[0]}\0\0".encode()
            client.sendall(b"E" + struct.pack("!i", 4 + len(text)) + text)
            return False
        key = b"K" + struct.pack("!iii", 12, next(self._keys), 7)
        client.sendall(b"R" + struct.pack("!ii", 8, 0) + self._greeting + key + b"Z" + struct.pack("!i", 5) + b"I")
        return True

    def _lend(self, client):
        """Lend the server for one transaction, and return False if the client ends instead of beginning one."""
        client.wait()
        if client.inbox[0][0] in _END:
            return False
        server = self._idle.get()
        try:
            unanswered, status = 0, b"I"
            while True:
                for kind, message in client.taken():
                    if kind in _END:
                        _abandon(server, unanswered, status)
                        return False
                    server.socket.sendall(message)
                    unanswered += kind in _ANSWERED
                readable, _, _ = select.select([client.socket, server.socket], [], [])
                if server.socket in readable:
                    server.receive()
                    answers = server.taken()
                    client.socket.sendall(b"".join(message for _, message in answers))
                    for kind, message in answers:
                        if kind == b"Z":
                            unanswered, status = unanswered - 1, message[5:]
                    if not unanswered and status == b"I":
                        return True
                if client.socket in readable:
                    client.receive()
        finally:
            self._idle.put(server)


def _abandon(server, unanswered, status):
    """Bring a connection out of the transaction of a client that is gone."""
    if status != b"I" or unanswered:
        server.socket.sendall(b"Q" + struct.pack("!i", 13) + b"ROLLBACK\0")
        unanswered += 1
    while unanswered:
        server.receive()
        unanswered -= sum(kind == b"Z" for kind, _ in server.taken())


class _Peer:
    """One end of a connection, and the messages that came from it."""

    def __init__(self, connection):
        connection.settimeout(None)
        self.socket, self.inbox, self._rest = connection, [], b""

    def wait(self):
        while not self.inbox:
            self.receive()

    def receive(self):
        chunk = self.socket.recv(2**18)
        if not chunk:
            self.inbox.append((b"", b""))
        content, at = self._rest + chunk, 0
        while len(content) >= at + 5 and len(content) >= (end := at + 1 + struct.unpack_from("!i", content, at + 1)[0]):
            self.inbox.append((content[at : at + 1], content[at:end]))
            at = end
        self._rest = content[at:]

    def taken(self):
        messages, self.inbox = self.inbox, []
        return messages


def _exactly(connection, size):
    content = b""
    while len(content) < size:
        content += (chunk := connection.recv(size - len(content)))
        if not chunk:
            raise ConnectionResetError
    return content
