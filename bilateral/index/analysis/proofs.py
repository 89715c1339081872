"""Proofs of payment that feedback files claim, matched with the payments in the index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence


class Proofs:
    """Finds the payment that a feedback proves.

    A claim that the index cannot judge counts neither for the client nor against it. The index reads payments in some
    tokens only. People pay from other accounts than they speak with, and agents may share a wallet.

    Args:
        claims: The block, the log and the claimed transaction of each feedback whose file claims one.
        payments: The rows of the table of payments.
        accounts: The accounts of each agent.
    """

    def __init__(
        self,
        claims: Iterable[Sequence[Any]],
        payments: Iterable[Sequence[Any]],
        accounts: Mapping[int, Collection[str]],
    ) -> None:
        self._claims = {(block, log): str(transaction).lower() for block, log, transaction in claims}
        self._accounts = accounts
        self._payments: dict[str, list[Sequence[Any]]] = {}
        self._kin: dict[str, set[str]] = {}
        if not self._claims:
            return
        for payment in payments:
            self._payments.setdefault(payment[0].partition(":")[0], []).append(payment)
        for own in accounts.values():
            for account in own:
                self._kin.setdefault(account, set()).update(own)

    def blocks(self) -> list[int]:
        """Return the blocks of the feedback whose files claim a payment in the index."""
        return sorted({block for (block, _), claimed in self._claims.items() if claimed in self._payments})

    def of(self, block: int, log: int, client: str, agent_id: int) -> str | None:
        """Return the name of the payment that a feedback proves; None without one.

        Args:
            block: The block of the feedback.
            log: Its log.
            client: The client.
            agent_id: The agent.
        """
        payments = self._payments.get(self._claims.get((block, log), ""), [])
        if not payments:
            return None
        name, payer, payee, paid, *_ = max(
            payments, key=lambda payment: (payment[1] == client) + (payment[3] == agent_id)
        )
        is_other_account = payer != client and payer in self._kin.get(client, ())
        is_shared_wallet = paid != agent_id and payee in self._accounts.get(agent_id, ())
        return None if is_other_account or is_shared_wallet else str(name)
