"""What commands show: tables for people, JSON for machines, and on the way what is being waited for.

Anybody can put anything on chain. What is shown to people goes through `printable`, and into Rich as text that it does
not search for markup; JSON is written in ASCII, with everything else as escapes.
"""

from __future__ import annotations

import errno
import getpass
import json
import os
import re
import sys
from contextlib import contextmanager, suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NoReturn, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bilateral.cli.errors import (
    ExitCode,
    InterruptionError,
    ReaderLeftError,
    UnwrittenError,
    arguments_of,
    exit_code,
    message_of,
    transaction_of,
)
from bilateral.cli.keys import without_keys
from bilateral.cli.shapes import plain
from bilateral.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rich.console import RenderableType
    from rich.status import Status

    from bilateral.errors import BilateralError

_SHOWN: Final = 300
"""Characters of a text that tables show; JSON has all of it."""

_BYTES = re.compile(r"0x[0-9a-fA-F]{0,998}")
"""Bytes, of which no part is of use, are shown up to 1,000 characters: twice what an authorisation by a key has."""

_LABEL: Final = 40
"""Characters of a field's name, which in a document is a stranger's too."""

_ROWS: Final = 200
"""Rows that tables show of one field, such as a document."""

_INDENT: Final = 12
"""Columns by which the parts of parts are indented at most."""

_WIDTH: Final = 10_000
"""Columns of what goes to a file or another program: nothing is wrapped there."""

_OF_ARGUMENTS: Final = (ExitCode.USAGE, ExitCode.INPUT, ExitCode.KEY)
"""Errors that repeat what the user typed, which might be a key that does not belong there."""


class Output:
    """Writes results to the standard output, and everything else to the standard error output.

    Attributes:
        as_json: Whether results and errors are written as JSON, and nothing else is.
        sent: The hashes of the transactions that were sent. Whatever goes wrong from then on, they are named.
    """

    def __init__(self, *, as_json: bool) -> None:
        """Take the streams as they are now."""
        self.as_json = as_json
        self.sent: list[str] = []
        self._console = _console(is_error=False)
        self._errors = _console(is_error=True)
        self._status: Status | None = None

    def result(self, value: Any, *, title: str = "") -> None:
        """Show an object, one line a field.

        Args:
            value: What the SDK returned, or an object of such values by name.
            title: What it is.
        """
        shape = plain(value)
        if self.as_json:
            self._write_json(shape)
            return
        self._title(title)
        table = Table(show_header=False, box=None)
        table.add_column(style="dim", no_wrap=True)
        table.add_column(overflow="fold")
        for name, inner in shape.items():
            rows = _rows(name.replace("_", " "), inner)
            for row in islice(rows, _ROWS):
                table.add_row(*row)
            if next(rows, None):
                table.add_row(Text(), Text("… and more, see --json"))
        self._print(table)

    def results(
        self, values: Sequence[Any], columns: Mapping[str, Callable[[Any], Any]], *, none: str = "none"
    ) -> None:
        """Show a list, one row an entry; or one line a field of each, where rows are wider than the terminal.

        Args:
            values: What the SDK returned.
            columns: What a table shows of each, by the column's title.
            none: What to say if there are none.
        """
        if self.as_json:
            self._write_json([plain(value) for value in values])
            return
        if not values:
            self._print(Text(none))
            return
        table = Table()
        for column in columns:
            table.add_column(column, no_wrap=True)
        for value in values:
            table.add_row(*(shown(plain(column(value))) for column in columns.values()))
        wide = self._console.options.update(width=_WIDTH)
        if self._console.measure(table, options=wide).maximum <= self._console.width:
            self._print(table)
            return
        for value in values:  # one line a field, so that identifiers stay in one piece
            self.result({name: column(value) for name, column in columns.items()}, title=" ")

    def note(self, text: str) -> None:
        """Tell people something beside the result; machines are not told."""
        if not self.as_json:
            self._tell(Text(_unescaped(text)))

    def raw(self, text: str) -> None:
        """Write a text that is itself the result, such as an authorisation to hand on."""
        _write(text)

    def error(self, error: BilateralError) -> None:
        """Tell what went wrong, and which transactions were sent before it did.

        Args:
            error: What went wrong.
        """
        named = transaction_of(error)
        sent = list(dict.fromkeys([*self.sent, *getattr(error, "hashes", ()), *([named] if named else [])]))
        transaction = named or (sent[0] if len(sent) == 1 else None)
        message, arguments = message_of(error), plain(arguments_of(error))
        if exit_code(error) in _OF_ARGUMENTS:
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
        self._tell(message if self.as_json else Text.assemble(("error: ", "bold red"), message))

    def fail(self, error: BilateralError | KeyboardInterrupt) -> NoReturn:
        """Tell what went wrong, and end the process with the exit code of such errors.

        Args:
            error: What went wrong.
        """
        if isinstance(error, KeyboardInterrupt):
            error = InterruptionError(self.sent, getattr(error, "__notes__", ()))
        if self.sent or not isinstance(error, ReaderLeftError):  # who reads no further need not be told
            self.error(error)
        sys.exit(exit_code(error))

    @contextmanager
    def waiting(self, text: str) -> Iterator[None]:
        """Show that something takes time, if there is a terminal to show it on.

        Args:
            text: What is being waited for.

        Yields:
            Nothing.
        """
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
        """Ask for something secret at the terminal.

        Args:
            question: What to ask.

        Returns:
            What was typed, which is not shown.
        """
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
        """Print for people; without the spaces with which tables fill their lines, where nobody looks at columns."""
        if self._console.is_terminal:
            with writing():
                self._console.print(renderable)
            return
        with self._console.capture() as captured:
            self._console.print(renderable)
        _write("\n".join(line.rstrip() for line in captured.get().splitlines()))

    def _write_json(self, shape: Any) -> None:
        _write(json.dumps(shape, indent=2))

    def _tell(self, message: str | Text) -> None:
        """Write to the standard error output. Where that fails, there is nobody to tell, and no reason to stop."""
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
    """Write to the standard output, and make sure that it is taken.

    Yields:
        Nothing.

    Raises:
        UnwrittenError: It is not taken.
    """
    if sys.stdout is None:  # it was closed when the process began
        raise UnwrittenError(os.strerror(errno.EBADF))
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        _discard(sys.stdout)
        kind = ReaderLeftError if isinstance(error, BrokenPipeError) else UnwrittenError
        raise kind(error.strerror or str(error)) from None


def shown(value: Any) -> Text:
    """A plain value as a table shows it.

    Args:
        value: What `plain` made of something.

    Returns:
        Text in which nothing acts: no control character, no markup.
    """
    if _is_empty(value):
        return Text("-", style="dim")
    match value:
        case bool():
            return Text("yes" if value else "no")
        case dict():
            return Text("\n").join(Text(f"{printable(str(name))}: ") + shown(inner) for name, inner in value.items())
        case list():
            rest = [f"… and {len(value) - _ROWS} more, see --json"] if len(value) > _ROWS else []
            return Text("\n").join(map(shown, [*value[:_ROWS], *rest]))
    text = str(value)
    if len(text) > _SHOWN and not _BYTES.fullmatch(text):
        return Text(f"{printable(text[:_SHOWN])}… ({len(text)} characters)")
    return Text(printable(text))


def _rows(label: str, value: Any, indent: str = "") -> Iterator[tuple[Text, Text]]:
    """What a table shows of a field: a row, or below its name one for each part that is not empty."""
    title = Text(indent + printable(label[:_LABEL]))
    if _is_empty(value) or not (isinstance(value, dict) or _is_list_of_objects(value)):
        yield title, shown(value)
        return
    yield title, Text()
    parts = value.items() if isinstance(value, dict) else ((f"{number}.", it) for number, it in enumerate(value, 1))
    for name, inner in parts:
        if not _is_empty(inner):
            yield from _rows(str(name), inner, (indent + "  ")[:_INDENT])


def _is_list_of_objects(value: Any) -> bool:
    """Whether a value is a list whose entries have parts of their own."""
    return isinstance(value, list) and any(isinstance(inner, dict | list) for inner in value)


def _is_empty(value: Any) -> bool:
    """Whether there is nothing to show; zero and False are something."""
    return value is None or value in ("", [], {})


def _unescaped(text: str) -> str:
    """A message of ours, in which texts of strangers are printable already; whatever else is not is made so."""
    return text if text.isprintable() else printable(text)


def _write(text: str) -> None:
    with writing():
        sys.stdout.write(f"{text}\n")


def _discard(stream: TextIO | None) -> None:
    """Let what a stream still holds go nowhere: the interpreter would fail over it in the end."""
    if stream is not None:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class _Console(Console):
    """A console that leaves it to its user what it means that a reader has left, and does not end the process."""

    def on_broken_pipe(self) -> None:
        """Pass the error on."""
        raise  # noqa: PLE0704  # Rich calls it where it has caught the error


def _console(*, is_error: bool) -> Console:
    """A console that takes text as it is."""
    stream = sys.stderr if is_error else sys.stdout
    is_terminal = stream is not None and stream.isatty()
    return _Console(stderr=is_error, width=None if is_terminal else _WIDTH, highlight=False, markup=False, emoji=False)
