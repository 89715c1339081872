"""The tables that a deployment prints."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from eth_utils.address import to_checksum_address
from rich.table import Table

from scripts._deployment.execution import Outcome, State
from scripts._deployment.parameters import GIVEN, LIST

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from scripts._deployment.live_chain import Chain
    from scripts._deployment.plan import PlannedContract

WEI = Decimal(10) ** 18


def ether(wei: int) -> str:
    """Show an amount.

    Args:
        wei: The amount in wei.

    Returns:
        It, in ether (or whatever the chain's coin is).
    """
    return f"{(wei / WEI).normalize():f} ETH"


def plan_table(chain: Chain, plan: Sequence[PlannedContract], states: Mapping[str, State]) -> Table:
    """Show what a deployment will do.

    Args:
        chain: The chain.
        plan: The plan.
        states: The state of each contract, by its name.

    Returns:
        A table, a row a contract.
    """
    table = Table(
        "contract", "address", "state", title=f"Plan for {chain.network} (chain {chain.chain_id})", title_justify="left"
    )
    table.add_column("gas, about", justify="right")
    for contract in plan:
        state = states[contract.name]
        gas = f"{contract.estimated_gas:,}" if state is State.MISSING else "0"
        table.add_row(contract.name, contract.address, state.value, gas)
    return table


def given_table(chain: Chain, addresses: Mapping[str, str | list[str]]) -> Table:
    """Show the addresses that a user gave: the holders of roles above all.

    Args:
        chain: The chain.
        addresses: The addresses by reference.

    Returns:
        A table, a row an address.
    """
    table = Table(
        "given", "address", "on this chain", title="Given addresses, final but for roles", title_justify="left"
    )
    for reference, value in addresses.items():
        for address in value if isinstance(value, list) else [value]:
            name = reference.removeprefix(GIVEN).removesuffix(LIST)
            kind = "a contract" if chain.code(to_checksum_address(address)) else "an account without code"
            table.add_row(name, address, kind)
    return table


def outcome_table(chain: Chain, outcomes: Iterable[Outcome]) -> Table:
    """Show what a deployment did.

    Args:
        chain: The chain.
        outcomes: The outcome for each contract.

    Returns:
        A table, a row a contract.
    """
    table = Table(
        "contract",
        "address",
        "result",
        "block",
        title=f"{chain.network} (chain {chain.chain_id})",
        title_justify="left",
    )
    for outcome in outcomes:
        block = outcome.record.block
        table.add_row(outcome.contract.name, outcome.record.address, outcome.state.value, f"{block or ''}")
    return table
