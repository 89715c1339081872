"""The description and the measurement of a gas benchmark."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import ape

INTRINSIC_GAS = 21_000
"""The gas of a transaction before it runs code."""

CALLDATA_GAS = {True: 4, False: 16}
"""The gas of a zero and of another byte of calldata (EIP-2028)."""


class World:
    """Freshly deployed registries and funded accounts to measure with.

    Attributes:
        accounts: Ape's test accounts, by role; none of them has used a registry before.
    """

    def __init__(self) -> None:
        """Take the accounts of the network that Ape is connected to."""
        self.deployer, self.owner, self.other_owner, *others = ape.accounts.test_accounts[:7]
        self.client, self.other_client, self.validator, self.receiver = others

    @cached_property
    def identity(self) -> Any:
        """The identity registry."""
        return self.deployer.deploy(ape.project.IdentityRegistry)

    @cached_property
    def authorized(self) -> Any:
        """The registry for authorised feedback."""
        return self.deployer.deploy(ape.project.AuthorizedReputationRegistry, self.identity)

    @cached_property
    def validation(self) -> Any:
        """The validation registry, bound to the identity registry."""
        return self.deployer.deploy(ape.project.ValidationRegistry, self.identity)

    @cached_property
    def reputation(self) -> Any:
        """The reputation registry, with ratings in both directions."""
        return self.deployer.deploy(ape.project.BidirectionalReputationRegistry, self.identity)


@dataclass(frozen=True)
class GasCase:
    """One call whose gas is measured, pinned by a test and shown by `make bench`.

    Attributes:
        call: The call, as the table shows it; unique.
        at_most: The most gas that the project promises.
        measure: Does the call in a fresh world and returns its receipt, or its gas: of a view, that of its execution.
        official: The gas in the ERC authors' registry, behind its proxy; None if it lacks the call.
        other: The gas in the other public reference; None if it lacks the call.
    """

    call: str
    at_most: int
    measure: Callable[[World], Any]
    official: int | None = None
    other: int | None = None

    @classmethod
    def of(  # a row of a table
        cls, call: str, at_most: int, measure: Callable[..., Any], official: int | None = None,
        other: int | None = None, **arguments: Any,
    ) -> "GasCase":  # fmt: skip
        """Return a case whose measure has further arguments."""
        return cls(call, at_most, partial(measure, **arguments), official, other)


def execution_gas(method: Any, *arguments: Any) -> int:
    """Measure what the execution of a view takes, without the cost of a transaction and its calldata.

    Args:
        method: A view of a contract, as `contract.method`.
        *arguments: Its arguments.

    Returns:
        Gas.
    """
    data = bytes(method.encode_input(*arguments))
    trace = ape.networks.provider.make_request(
        "debug_traceCall",
        [{"to": method.contract.address, "data": f"0x{data.hex()}"}, "latest", {"tracer": "callTracer"}],
    )
    if "error" in trace:
        raise RuntimeError(f"the measured call reverted: {trace['error']}")
    intrinsic = INTRINSIC_GAS + sum(CALLDATA_GAS[byte == 0] for byte in data)
    return int(trace["gasUsed"], 16) - intrinsic
