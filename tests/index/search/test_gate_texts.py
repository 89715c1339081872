"""Gates and capabilities as texts."""

from __future__ import annotations

from decimal import Decimal

import pytest

from bilateral.core.errors import InvalidArgumentError
from bilateral.index.search.filters import Capability, Gate, Payment, Side
from bilateral.index.search.gate_texts import EXAMPLE, capability_of, gate_of

ALICE, BOB = f"0x{'11' * 20}", f"0x{'22' * 20}"


@pytest.mark.parametrize(
    ("text", "gate"),
    [
        (EXAMPLE, Gate(tag="starred", minimum=Decimal(80), count=5)),
        ("side=client,tag=", Gate(tag="", side=Side.CLIENT)),
        ("tag=a%2Cb%3D%25", Gate(tag="a,b=%")),
        (f"reviewer={ALICE},reviewer={BOB}", Gate(reviewers=(ALICE, BOB))),
        ("side=client,reviewer=8453:7", Gate(side=Side.CLIENT, reviewers=("8453:7",))),
        ("payment=claimed,clients=2,maximum_count=9", Gate(payment=Payment.CLAIMED, clients=2, maximum_count=9)),
        ("lower_bound=0.5,maximum=1e2", Gate(lower_bound=Decimal("0.5"), maximum=Decimal("1e2"))),
    ],
    ids=["example", "empty tag", "escaped", "reviewers", "agent", "payment", "bounds"],
)
def test_a_text_describes_a_gate(text, gate):
    assert gate_of(text) == gate


@pytest.mark.parametrize(
    "text",
    [
        *("", "starred", "tag=a,,count=1", "colour=red", "tag=a,tag=b", "count=-1", "count=1.5", "count=0"),
        *("minimum=much", "minimum=NaN", "minimum=Infinity", "side=buyer", "payment=all", "count=٣"),
        *(f"minimum={'1' * 61}", f"count={'1' * 5_000}", ",".join(f"reviewer={ALICE}" for _ in range(211))),
    ],
    ids=[f"text {number}" for number in range(17)],
)
def test_an_invalid_text_is_refused(text):
    with pytest.raises(InvalidArgumentError):
        gate_of(text)


def test_a_capability_has_a_kind_and_a_value():
    assert capability_of("mcp_tool:a:b") == (Capability.MCP_TOOL, "a:b")
    with pytest.raises(InvalidArgumentError, match="kinds are mcp_tool"):
        capability_of("tool:a")
