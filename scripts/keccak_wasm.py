"""Writes Keccak-f[1600] as a module of WebAssembly, for bodies that are too long for JavaScript.

The npm package hashes bodies of up to 32 MiB. Plain JavaScript takes 78 ms a MiB for that, this module about 5 ms. It
is written here instruction by instruction, so that nobody has to trust a binary: `assembly` is the whole source.

The module exports `memory` and `absorb(blocks)`. The state is at address 0, and the blocks of 136 bytes are at `INPUT`.
"""

from __future__ import annotations

from base64 import b64encode
from typing import Final

RATE: Final = 136  # bytes of a block of Keccak-256
CONSTANTS: Final = 256
INPUT: Final = 512
PAGES: Final = 5  # of 64 KiB: the input has four, less the 512 bytes before it
ROUNDS: Final = 24
I32, I64 = 0x7F, 0x7E

GET, SET, TEE, LOOP, BRANCH_IF, END = 0x20, 0x21, 0x22, 0x03, 0x0D, 0x0B
CONST32, CONST64, ADD32, SUB32, LOAD64, STORE64 = 0x41, 0x42, 0x6A, 0x6B, 0x29, 0x37
XOR64, AND64, ROTATE64, LESS32 = 0x85, 0x83, 0x89, 0x49
EMPTY = 0x40

BLOCKS, POINTER, ROUND = 0, 1, 2  # locals of 32 bits: the argument, and two of ours
A, B, C, D = 3, 28, 53, 58  # locals of 64 bits


def unsigned(number: int) -> bytes:
    """Encode a number (LEB128)."""
    digits = []
    while True:
        number, digit = number >> 7, number & 0x7F
        digits.append(digit | (0x80 if number else 0))
        if not number:
            return bytes(digits)


def signed(number: int) -> bytes:
    """Encode a number that may be negative (LEB128)."""
    digits = []
    while True:
        digit, number = number & 0x7F, number >> 7
        is_last = number == (-1 if digit & 0x40 else 0)
        digits.append(digit | (0 if is_last else 0x80))
        if is_last:
            return bytes(digits)


def _get(local: int) -> bytes:
    return bytes([GET]) + unsigned(local)


def _put(local: int) -> bytes:
    return bytes([SET]) + unsigned(local)


def _const(number: int) -> bytes:
    return bytes([CONST32]) + signed(number)


def _load(offset: int) -> bytes:
    return bytes([LOAD64, 3]) + unsigned(offset)


def _rotate(value: bytes, bits: int) -> bytes:
    return value + (bytes([CONST64]) + signed(bits) + bytes([ROTATE64]) if bits else b"")


def _xor(*values: bytes) -> bytes:
    return values[0] + b"".join(value + bytes([XOR64]) for value in values[1:])


def offsets() -> dict[tuple[int, int], int]:
    """Return the bits by which each lane is rotated."""
    lanes, place = {(0, 0): 0}, (1, 0)
    for step in range(ROUNDS):
        lanes[place] = (step + 1) * (step + 2) // 2 % 64
        place = place[1], (2 * place[0] + 3 * place[1]) % 5
    return lanes


def constants() -> bytes:
    """Return the constants of all rounds."""
    register, made = 1, []
    for _ in range(ROUNDS):
        value = 0
        for bit in range(7):
            value |= (register & 1) << (2**bit - 1)
            register = register << 1 ^ (0x171 if register >> 7 else 0)
        made.append(value.to_bytes(8, "little"))
    return b"".join(made)


def one_round() -> bytes:
    """Return the instructions of one round."""
    code = b"".join(_xor(*(_get(A + x + 5 * y) for y in range(5))) + _put(C + x) for x in range(5))
    code += b"".join(_xor(_get(C + (x + 4) % 5), _rotate(_get(C + (x + 1) % 5), 1)) + _put(D + x) for x in range(5))
    for (x, y), bits in offsets().items():
        code += _rotate(_xor(_get(A + x + 5 * y), _get(D + x)), bits) + _put(B + y + 5 * ((2 * x + 3 * y) % 5))
    flipped = bytes([CONST64]) + signed(-1)
    for y in range(5):
        for x in range(5):
            first, second, third = (_get(B + (x + step) % 5 + 5 * y) for step in range(3))
            code += _xor(first, _xor(second, flipped) + third + bytes([AND64])) + _put(A + x + 5 * y)
    return code + _xor(_get(A), _get(ROUND) + _load(CONSTANTS)) + _put(A)


def assembly() -> bytes:
    """Return the body of `absorb`."""
    lanes = range(25)
    code = b"".join(_const(0) + _load(8 * lane) + _put(A + lane) for lane in lanes)
    code += _const(0) + _put(POINTER) + bytes([LOOP, EMPTY])
    code += b"".join(
        _xor(_get(A + lane), _get(POINTER) + _load(INPUT + 8 * lane)) + _put(A + lane) for lane in range(RATE // 8)
    )
    code += _const(0) + _put(ROUND) + bytes([LOOP, EMPTY]) + one_round()
    code += (
        _get(ROUND)
        + _const(8)
        + bytes([ADD32, TEE])
        + unsigned(ROUND)
        + _const(8 * ROUNDS)
        + bytes([LESS32, BRANCH_IF, 0, END])
    )
    code += _get(POINTER) + _const(RATE) + bytes([ADD32]) + _put(POINTER)
    code += _get(BLOCKS) + _const(1) + bytes([SUB32, TEE]) + unsigned(BLOCKS) + bytes([BRANCH_IF, 0, END])
    code += b"".join(_const(0) + _get(A + lane) + bytes([STORE64, 3]) + unsigned(8 * lane) for lane in lanes)
    groups = unsigned(2) + unsigned(2) + bytes([I32]) + unsigned(60) + bytes([I64])
    return groups + code + bytes([END])


def _section(number: int, content: bytes) -> bytes:
    return bytes([number]) + unsigned(len(content)) + content


def _text(content: str) -> bytes:
    return unsigned(len(content)) + content.encode()


def module() -> bytes:
    """Return the module."""
    body = assembly()
    return b"".join(
        (
            b"\0asm\1\0\0\0",
            _section(1, unsigned(1) + bytes([0x60]) + unsigned(1) + bytes([I32]) + unsigned(0)),
            _section(3, unsigned(1) + unsigned(0)),
            _section(5, unsigned(1) + b"\1" + unsigned(PAGES) + unsigned(PAGES)),
            _section(7, unsigned(2) + _text("memory") + b"\2\0" + _text("absorb") + b"\0\0"),
            _section(10, unsigned(1) + unsigned(len(body)) + body),
            _section(11, unsigned(1) + b"\0" + _const(CONSTANTS) + bytes([END]) + unsigned(8 * ROUNDS) + constants()),
        )
    )


def typescript() -> str:
    """Return TypeScript with the module."""
    return (
        "/** Keccak-f[1600] in WebAssembly, see `scripts/keccak_wasm.py` in the repository. */\n"
        f'export const MODULE: string = "{b64encode(module()).decode()}";\n'
        "/** The address of the blocks in the module's memory. */\n"
        f"export const INPUT: number = {INPUT};\n"
        "/** The blocks for which the memory has room. */\n"
        f"export const ROOM: number = {(PAGES * 65536 - INPUT) // RATE};\n"
    )
