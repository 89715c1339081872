"""The tables that a deployment prints."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from rich.table import Table

from scripts._deployment.execution import Outcome, State

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
