"""Output of commands: tables for users, JSON for other programs, and progress.

On-chain data is untrusted. Tables show it through `printable`, as text that Rich does not interpret as markup. JSON is
written in ASCII, with all other characters escaped.
"""

import errno
import getpass
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any, Final, NoReturn, TextIO

from rich.console import Console, RenderableType
from rich.status import Status
from rich.table import Table
from rich.text import Text

from bilateral.cli import errors
from bilateral.cli.secrets import without_keys
from bilateral.core.errors import BilateralError
from bilateral.core.text import printable

_MAX_TEXT: Final = 300
"""The maximum length of text in tables, in characters. JSON contains the whole text."""

_BYTES = re.compile(r"0x[0-9a-fA-F]{0,998}")
"""The pattern of bytes that tables show in full: up to 1,000 digits, twice the length of an authorisation."""

_ZERO = re.compile(r"0x(0{40}|0{64})")
"""The address and the hash that mean "none"."""

_DATA_URI: Final = 60
"""The number of characters of a data URI that tables show: the type, and the start of the content."""

_IDENTIFIER = re.compile(r"0x[0-9a-fA-F]{40,64}")
"""An address or a hash, which is never wrapped."""

_NARROW_CELL: Final = 16
"""The number of characters to show of a tag or other text in a row that would not fit otherwise."""

_LABEL: Final = 40
"""The number of characters to show of a field's name, which is untrusted in documents."""

_ROWS: Final = 200
"""The maximum number of table rows for one field, such as a document."""

_INDENT: Final = 12
"""The maximum indentation of nested fields, in columns."""

_WIDTH: Final = 10_000
"""The width of output to a file or a program, in columns, which is so large that nothing is wrapped."""

_OF_ARGUMENTS: Final = (errors.ExitCode.USAGE, errors.ExitCode.INPUT, errors.ExitCode.KEY)
"""The exit codes of errors whose messages repeat arguments, which may contain a misplaced key."""


class Output:
    """Writes results to standard output, and everything else to standard error.

    Attributes:
        as_json: True to write results and errors as JSON, and nothing else.
        sent: The hashes of the transactions that were sent, which are reported even if a later step fails.
    """

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self.sent: list[str] = []
        self._console = _console(is_error=False)
        self._errors = _console(is_error=True)
        self._status: Status | None = None

    def result(self, value: Any, *, title: str = "", view: Mapping[str, Any] | None = None) -> None:
        """Show an object, one line per field. Tables omit empty fields."""
        from bilateral.cli.json_values import plain  # noqa: PLC0415  # slow to import
        from bilateral.cli.shapes import view_of  # noqa: PLC0415

        if self.as_json:
            self._write_json(plain(value))
            return
        self._title(title)
        fields = plain(view_of(value) if view is None else view)
        labels = [_label(name) for name in fields]
        room = self._console.width - max(map(len, labels), default=0) - 2  # two spaces separate the columns
        table = Table(show_header=False, box=None, pad_edge=False)
        table.add_column(style="dim", no_wrap=True)
        table.add_column(overflow="fold")
        for label, inner in zip(labels, fields.values(), strict=True):
            if _is_empty(inner):
                continue
            rows = _rows(label, inner, room)
            for row in islice(rows, _ROWS):
                table.add_row(*row)
            if next(rows, None):
                table.add_row(Text(), Text("… and more, see --json"))
        self._print(table)

    def results(
        self, values: Sequence[Any], columns: Mapping[str, Callable[[Any], Any]], *, none: str = "none"
    ) -> None:
        """Show a list with one row per entry or, if rows are too wide, one line per field."""
        from bilateral.cli.json_values import plain  # noqa: PLC0415  # slow to import

        if self.as_json:
            self._write_json([plain(value) for value in values])
            return
        if not values:
            self._print(Text(none))
            return
        cells = [[cell_text(plain(column(value))) for column in columns.values()] for value in values]
        filled = [number for number in range(len(columns)) if any(row[number].plain != "-" for row in cells)]
        for longest in (None, _NARROW_CELL):
            table = Table()
            for number in filled:
                table.add_column(list(columns)[number], no_wrap=True)
            for row in cells:
                table.add_row(*(_cut(row[number], longest) for number in filled))
            if self._fits(table):
                self._print(table)
                return
        for value in values:  # keeps identifiers in one piece
            self.result({name: column(value) for name, column in columns.items()}, title=" ")

    def note(self, text: str) -> None:
        """Show a note alongside the result. JSON output contains no notes."""
        if not self.as_json:
            self._write_error(Text(_unescaped(text)))

    def raw(self, text: str) -> None:
        """Write text that is itself the result, such as an authorisation."""
        _write(text)

    def error(self, error: BilateralError) -> None:
        """Write an error, with the transactions that were sent before it."""
        from bilateral.cli.json_values import plain  # noqa: PLC0415  # slow to import

        cause = errors.transaction_of(error)
        sent = list(dict.fromkeys([*self.sent, *getattr(error, "hashes", ()), *([cause] if cause else [])]))
        transaction = cause or (sent[0] if len(sent) == 1 else None)
        message, arguments = errors.message_of(error), plain(errors.arguments_of(error))
        if errors.exit_code(error) in _OF_ARGUMENTS or isinstance(error, errors.MistakeError):
            message, arguments = without_keys([message, arguments], sent)
        if len(sent) > 1:
            arguments["hashes"] = sent
        if unnamed := [hash_ for hash_ in sent if hash_ not in message]:
            message += f" (sent: {', '.join(unnamed)})"
        if self.as_json:
            value = {"reason": error.reason, "message": message, "arguments": arguments, "transaction": transaction}
            message = json.dumps(value)
        else:
            message = _unescaped(message)
        self._write_error(message if self.as_json else Text.assemble(("error: ", "bold red"), message))

    def fail(self, error: BilateralError | KeyboardInterrupt) -> NoReturn:
        """Write an error, and exit with its exit code."""
        if isinstance(error, KeyboardInterrupt):
            kind = errors.TerminationError if isinstance(error, errors.Stopped) else errors.InterruptionError
            error = kind(self.sent, getattr(error, "__notes__", ()))
        if self.sent or not isinstance(error, errors.ReaderLeftError):  # a reader that exits early is not an error
            self.error(error)
        sys.exit(errors.exit_code(error))

    @contextmanager
    def waiting(self, text: str) -> Iterator[None]:
        """Show progress if the output is a terminal."""
        if self.as_json or not self._errors.is_terminal:
            yield
            return
        with self._errors.status(Text(_unescaped(text))) as status:
            self._status = status
            try:
                yield
            finally:
                self._status = None

    def ask(self, question: str) -> str:
        """Prompt for a secret at the terminal, without echo."""
        status = self._status
        if status is not None:
            status.stop()
        try:
            return getpass.getpass(question, stream=sys.stderr)
        finally:
            if status is not None:
                status.start()

    def _title(self, title: str) -> None:
        if title:
            self._print(Text(_unescaped(title), style="bold"))

    def _print(self, renderable: RenderableType) -> None:
        """Print for users, without trailing spaces if the output goes to a file or another program."""
        if self._console.is_terminal:
            with writing():
                self._console.print(renderable)
            return
        with self._console.capture() as captured:
            self._console.print(renderable)
        _write("\n".join(line.rstrip() for line in captured.get().splitlines()))

    def _fits(self, table: Table) -> bool:
        wide = self._console.options.update(width=_WIDTH)
        return self._console.measure(table, options=wide).maximum <= self._console.width

    def _write_json(self, shape: Any) -> None:
        _write(json.dumps(shape, indent=2))

    def _write_error(self, message: str | Text) -> None:
        """Write to standard error. If that fails, continue."""
        try:
            if isinstance(message, Text):
                self._errors.print(message)
            elif sys.stderr is not None:
                sys.stderr.write(f"{message}\n")
                sys.stderr.flush()
        except OSError:
            _discard(sys.stderr)


@contextmanager
def writing() -> Iterator[None]:
    """Write to standard output, and flush it."""
    if sys.stdout is None:  # standard output was closed when the process began
        raise errors.UnwrittenError(os.strerror(errno.EBADF))
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        _discard(sys.stdout)
        kind = errors.ReaderLeftError if isinstance(error, BrokenPipeError) else errors.UnwrittenError
        raise kind(error.strerror or str(error)) from None


def cell_text(value: Any) -> Text:
    """Return a plain value formatted for a table."""
    if _is_empty(value):
        return Text("-", style="dim")
    match value:
        case bool():
            return Text("yes" if value else "no")
        case dict():
            return Text("\n").join(
                Text(f"{printable(str(name))}: ") + cell_text(inner) for name, inner in value.items()
            )
        case list():
            rest = [f"… and {len(value) - _ROWS} more, see --json"] if len(value) > _ROWS else []
            return Text("\n").join(map(cell_text, [*value[:_ROWS], *rest]))
    text = str(value)
    longest = _DATA_URI if text[:5].lower() == "data:" else _MAX_TEXT
    if len(text) > longest and not _BYTES.fullmatch(text):
        return Text(f"{printable(text[:longest])}… ({len(text)} characters)")
    return Text(printable(text))


def _rows(label: str, value: Any, room: int, indent: str = "") -> Iterator[tuple[Text, Text]]:
    """Yield the table rows of a field: a single row, or its name followed by a row for each non-empty part."""
    title = Text(indent + printable(label))
    if not (isinstance(value, dict) or _is_list_of_objects(value)):
        yield title, _on_one_line(cell_text(value), room)
        return
    yield title, Text()
    parts = (
        value.items()
        if isinstance(value, dict)
        else ((f"{number}.", element) for number, element in enumerate(value, 1))
    )
    for name, inner in parts:
        if not _is_empty(inner):
            yield from _rows(str(name)[:_LABEL], inner, room, (indent + "  ")[:_INDENT])


def _label(name: str) -> str:
    """Return the label of a field: its name in lower case, with spaces."""
    return name.replace("_", " ")[:_LABEL]


def _on_one_line(text: Text, room: int) -> Text:
    if len(text.plain) <= room or not _IDENTIFIER.fullmatch(text.plain):
        return text
    half = max(6, (room - 1) // 2)
    return Text(f"{text.plain[:half]}…{text.plain[-half:]}")


def _cut(text: Text, longest: int | None) -> Text:
    """Shorten a cell unless it is an identifier, which people copy."""
    if longest is None or len(text.plain) <= longest or "0x" in text.plain:
        return text
    return Text(f"{text.plain[: longest - 1]}…")


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(inner, dict | list) for inner in value)


def _is_empty(value: Any) -> bool:
    """Return whether a value is missing: empty, or the zero hash or address. Zero and False are not missing."""
    return value is None or value in ("", [], {}) or (isinstance(value, str) and bool(_ZERO.fullmatch(value)))


def _unescaped(text: str) -> str:
    """Return a message with unprintable characters escaped. Untrusted text in it was escaped earlier."""
    return text if text.isprintable() else printable(text)


def _write(text: str) -> None:
    with writing():
        sys.stdout.write(f"{text}\n")


def _discard(stream: TextIO | None) -> None:
    if stream is not None:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class _Console(Console):
    """A console that raises an error if its reader has exited, instead of ending the process as Rich does."""

    def on_broken_pipe(self) -> None:
        """Reraise the error."""
        raise  # noqa: PLE0704  # Rich calls it where it has caught the error


def _console(*, is_error: bool) -> Console:
    stream = sys.stderr if is_error else sys.stdout
    is_terminal = stream is not None and stream.isatty()
    return _Console(stderr=is_error, width=None if is_terminal else _WIDTH, highlight=False, markup=False, emoji=False)
