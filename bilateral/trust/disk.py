"""Arrays on disk: NumPy keeps large arrays in files, so that an analysis takes less memory than its arrays.

The arrays are ordinary ones, and so every answer is the same. The kernel reads and writes the files by pages. Pages
leave the memory of this process when they exceed its limit; the kernel caches them as long as the machine has room.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from bilateral.core.errors import InvalidArgumentError, MissingExtraError
from bilateral.core.text import quoted

if TYPE_CHECKING:
    from types import TracebackType

_LARGE: Final = 2**20
"""The bytes from which an array is in a file. Thousands of smaller ones take less memory than one table of accounts."""

_PAUSE: Final = 0.02
"""The seconds between two looks at the memory: arrays grow by some 20 MB in it."""

_SPARE: Final = 2
"""Files of freed arrays are kept, to be used again, up to so many times the limit. A new file costs its allocation."""

_STEPS: Final = 4
"""The bits of a size that count: few sizes, so that files fit again, and at most an eighth of a file is not used."""

_FAILED: Final = ctypes.c_void_p(-1).value
"""The address of a file that was not mapped."""

_GIGABYTE: Final = 10**9

_ARRAYS: Final = 0.3
_DATABASE: Final = 0.3
"""The shares of the memory for pages of arrays, and for a database in this process. The rest is for the program,
Arrow's copies of some rows, and texts of findings: 0.3 to 0.5 GB."""

_ADDRESS, _SIZE = ctypes.c_void_p, ctypes.c_size_t


@dataclass(frozen=True)
class Budget:
    """The memory of an analysis.

    Attributes:
        arrays: The bytes of arrays that stay in memory.
        database: The bytes that a database in this process takes.
        scratch: A folder for what exceeds them.
    """

    arrays: int
    database: int
    scratch: Path

    @classmethod
    def of(cls, memory: float, scratch: Path) -> Self:
        """Share out the memory of an analysis.

        Args:
            memory: The gigabytes.
            scratch: A folder on a disk with room.
        """
        return cls(int(memory * _ARRAYS * _GIGABYTE), int(memory * _DATABASE * _GIGABYTE), scratch)


def _libc() -> Any:
    """Return the functions of the C library that hand out memory."""
    library = ctypes.CDLL(None, use_errno=True)
    for name, result, arguments in (
        ("malloc", _ADDRESS, [_SIZE]),
        ("calloc", _ADDRESS, [_SIZE, _SIZE]),
        ("realloc", _ADDRESS, [_ADDRESS, _SIZE]),
        ("free", None, [_ADDRESS]),
        ("mmap", _ADDRESS, [_ADDRESS, _SIZE, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64]),
        ("munmap", ctypes.c_int, [_ADDRESS, _SIZE]),
        ("madvise", ctypes.c_int, [_ADDRESS, _SIZE, ctypes.c_int]),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


class DiskArrays:
    """Large arrays of NumPy in files: `with DiskArrays(folder, 2**30): ...`.

    Arrays that are made in the context stay valid after it. Their files have no names: nothing remains of them when the
    process ends, however it does.

    Args:
        folder: A folder on a disk with room for all arrays.
        memory: The bytes of the arrays that stay in memory. One operation may exceed them for some milliseconds.

    Raises:
        InvalidArgumentError: This system has no such files.
        MissingExtraError: The library that hands NumPy its memory is not installed.
    """

    def __init__(self, folder: Path, memory: int) -> None:
        if not hasattr(os, "posix_fallocate") or not Path("/proc/self/statm").exists():
            raise InvalidArgumentError("arrays on disk need Linux: leave the limit of memory out")
        try:
            import numpy_allocator  # noqa: PLC0415  # an extra
        except ImportError:
            raise MissingExtraError("spark", ["numpy_allocator"]) from None
        self.folder, self.memory, self._most_spare, self._c = folder, memory, memory * _SPARE, _libc()
        self._used: dict[int, int] = {}
        self._spare: dict[int, list[int]] = {}
        self._spare_size, self._is_releasing = 0, False
        self._refusal: OSError | None = None
        # Python may free arrays in the middle of these functions, which then calls them again.
        self._lock, self._end = threading.RLock(), threading.Event()
        self._functions = {
            "_malloc_": ctypes.CFUNCTYPE(_ADDRESS, _SIZE)(self._malloc),
            "_calloc_": ctypes.CFUNCTYPE(_ADDRESS, _SIZE, _SIZE)(self._calloc),
            "_realloc_": ctypes.CFUNCTYPE(_ADDRESS, _ADDRESS, _SIZE)(self._realloc),
            "_free_": ctypes.CFUNCTYPE(None, _ADDRESS, _SIZE)(self._free),
        }
        addresses = {name: ctypes.addressof(function) for name, function in self._functions.items()}
        self._allocator = numpy_allocator.type("DiskAllocator", (), addresses)
        # The last arrays are freed while Python ends, when it has removed modules and objects: this must outlive them.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))

    def __enter__(self) -> Self:
        """Put new arrays into files, and watch the memory."""
        self._allocator.__enter__()
        self._end.clear()
        threading.Thread(target=self._watch, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Put new arrays into memory again."""
        self._end.set()
        self._allocator.__exit__(kind, error, trace)
        if isinstance(error, MemoryError) and self._refusal is not None:
            raise InvalidArgumentError(
                f"the disk of {quoted(str(self.folder))} has no room for the arrays: {self._refusal.strerror}"
            ) from None

    def _watch(self) -> None:
        """Take pages out of memory whenever they exceed the limit."""
        page = mmap.PAGESIZE
        with Path("/proc/self/statm").open() as statistics:
            while not self._end.wait(_PAUSE):
                statistics.seek(0)
                if int(statistics.read().split()[2]) * page > self.memory:  # pages of files
                    self._release()

    def _release(self) -> None:
        """Take all pages out of memory. The kernel writes them, and reads back those that are used."""
        with self._lock:
            self._is_releasing = True
            for address, size in self._used.copy().items():
                self._c.madvise(address, size, mmap.MADV_DONTNEED)
            for size, addresses in self._spare.copy().items():
                for address in addresses.copy():
                    self._c.madvise(address, size, mmap.MADV_DONTNEED)
            self._is_releasing = False

    def _malloc(self, size: int) -> int | None:
        if size >= _LARGE:
            return self._mapped(size)[0]
        address: int | None = self._c.malloc(size)
        return address

    def _calloc(self, count: int, width: int) -> int | None:
        size = count * width
        if size < _LARGE:
            small: int | None = self._c.calloc(count, width)
            return small
        address, is_new = self._mapped(size)
        if address is not None and not is_new:
            ctypes.memset(address, 0, size)
        return address

    def _realloc(self, address: int | None, size: int) -> int | None:
        held = self._used.get(address or 0)
        if held is None:
            grown: int | None = self._c.realloc(address, size)  # a small array that grows stays in memory
            return grown
        if size <= held:
            return address
        larger, _ = self._mapped(size)
        if larger is not None and address is not None:
            ctypes.memmove(larger, address, held)
            self._free(address, held)
        return larger

    def _free(self, address: int | None, _: int) -> None:
        with self._lock:
            size = self._used.pop(address or 0, None)
            if size is None or address is None:
                self._c.free(address)
                return
            self._spare.setdefault(size, []).append(address)
            self._spare_size += size
            # The address of an unmapped file may be another mapping's at once, whose pages must not be released.
            if self._spare_size > self._most_spare and not self._is_releasing:
                self._unmap()

    def _unmap(self) -> None:
        """Remove the files of freed arrays."""
        spare, self._spare, self._spare_size = self._spare, {}, 0
        for size, addresses in spare.items():
            for address in addresses:
                self._c.munmap(address, size)

    def _mapped(self, size: int) -> tuple[int | None, bool]:
        """Return the address of a file in memory, and True if it is new, and so has zeros; None if the disk is full."""
        step = max(mmap.PAGESIZE, 2 ** (size.bit_length() - _STEPS))
        size = -(-size // step) * step
        with self._lock:
            address: int | None
            try:
                address = self._spare[size].pop()
            except (KeyError, IndexError):
                address, is_new = self._new(size), True
            else:
                self._spare_size, is_new = self._spare_size - size, False
            if address is not None:
                self._used[address] = size
            return address, is_new

    def _new(self, size: int) -> int | None:
        """Return the address of a new file; None if the disk is full."""
        try:
            with tempfile.TemporaryFile(dir=self.folder, buffering=0) as file:
                os.posix_fallocate(file.fileno(), 0, size)  # a full disk would kill the process at a later write
                access = mmap.PROT_READ | mmap.PROT_WRITE
                address: int = self._c.mmap(None, size, access, mmap.MAP_SHARED, file.fileno(), 0)
        except OSError as error:
            self._refusal = error
            return None
        return None if address == _FAILED else address
