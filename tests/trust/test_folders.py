"""Tables are read alike from a path, from files in parts, and from URLs."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from pyarrow import parquet

from bilateral.core.errors import InvalidArgumentError
from bilateral.trust.tables.schema import COLUMNS, Tables
from simulation.serving import serve_in_thread
from tests.trust.conftest import addressed


@pytest.fixture
def folder(market, tmp_path):
    """A folder of tables, without ratings."""
    addressed(market.tables()).write(tmp_path / "tables")
    (tmp_path / "tables" / "ratings.parquet").unlink()
    return tmp_path / "tables"


class Ranged(SimpleHTTPRequestHandler):
    """Serves ranges of files, as stores do, to those who sign."""

    def do_HEAD(self):
        self._send(self._content())

    def do_GET(self):
        content = self._content()
        self._send(content)
        if content is not None:
            start, stop = self._range(content)
            self.wfile.write(content[start:stop])

    def _content(self):
        try:
            return Path(self.translate_path(self.path)).read_bytes()
        except OSError:
            return None

    def _range(self, content):
        asked = self.headers.get("Range", "").removeprefix("bytes=")
        start, _, last = asked.partition("-")
        return int(start or 0), int(last) + 1 if last else len(content)

    def _send(self, content):
        if not self.path.endswith("?signature=secret"):
            return self.send_error(HTTPStatus.FORBIDDEN)
        if content is None:
            return self.send_error(HTTPStatus.NOT_FOUND)
        start, stop = self._range(content)
        self.send_response(HTTPStatus.PARTIAL_CONTENT if "Range" in self.headers else HTTPStatus.OK)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(content[start:stop])))
        return self.end_headers()

    def log_message(self, *_):
        """Keep quiet."""


def served(folder):
    """Return a context that serves a folder, and yields its URL without a signature."""
    return serve_in_thread(ThreadingHTTPServer(("127.0.0.1", 0), partial(Ranged, directory=folder)))


def same(left, right):
    """Check that tables have the same rows."""
    return all(getattr(left, name).to_pylist() == getattr(right, name).to_pylist() for name in COLUMNS)


@pytest.mark.parametrize("scheme", ["file", "local"])  # Arrow reads the one, and fsspec the other
def test_a_url_of_files_is_read_as_its_path_is(folder, scheme):
    assert same(Tables.read(f"{scheme}://{folder}"), Tables.read(folder))


def test_a_web_server_is_read_with_its_signature(folder):
    with served(folder) as url:
        assert same(Tables.read(f"{url}?signature=secret"), Tables.read(folder))


def test_a_refusal_of_a_web_server_is_told_without_the_signature(folder):
    with (
        served(folder) as url,
        pytest.raises(InvalidArgumentError, match=r"cannot check for agents\.parquet") as refused,
    ):
        Tables.read(f"{url}?signature=stolen")
    assert "stolen" not in str(refused.value)


def test_a_server_that_is_gone_is_told(folder):
    with served(folder) as url:
        pass
    with pytest.raises(InvalidArgumentError, match=r"cannot check for agents\.parquet"):
        Tables.read(url)


def test_tables_in_parts_are_read_in_their_order(folder, tmp_path):
    whole = Tables.read(folder)
    for file in sorted(folder.iterdir()):
        table = parquet.read_table(file)
        (tmp_path / "parts" / file.name).mkdir(parents=True)
        (tmp_path / "parts" / file.name / "_SUCCESS").touch()
        for number, start in enumerate((0, 7, 14)):
            part = table.slice(start, 7 if start < 14 else None)
            parquet.write_table(part, tmp_path / "parts" / file.name / f"part-{number:05}.parquet")
    assert same(Tables.read(tmp_path / "parts"), whole)


def test_a_url_that_no_library_reads_is_refused_without_the_password():
    with pytest.raises(InvalidArgumentError, match='cannot open a folder at "unknown://host/tables"') as refused:
        Tables.read("unknown://reader:secret@host/tables?key=secret")
    assert "secret" not in str(refused.value)
