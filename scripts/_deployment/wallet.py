"""The account that pays for a deployment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import ape

from scripts._deployment.errors import DeploymentError

if TYPE_CHECKING:
    from ape.api import AccountAPI, TransactionAPI
    from eth_typing import ChecksumAddress


@dataclass(frozen=True)
class SignedTransaction:
    """A transaction that may be sent, and how to find it again.

    Attributes:
        hash: Its hash, `0x…`.
        nonce: The sender's nonce that it uses.
        raw: Its serialisation.
    """

    hash: str
    nonce: int
    raw: bytes


class Wallet:
    """An account of Ape's, on the network that Ape is connected to.

    Signing and sending are separate here, so that a transaction is on record before it is sent.
    """

    def __init__(self, account: AccountAPI, chain_id: int) -> None:
        """Use an account.

        Args:
            account: The account.
            chain_id: The chain to sign for. Ape itself takes the node of a local network for one of chain 1337.
        """
        self._account = account
        self._chain_id = chain_id
        self._used_nonces = 0
        self.address: ChecksumAddress = account.address

    @property
    def next_nonce(self) -> int:
        """The nonce of the next transaction: what the node says, unless it lags behind what this run has seen."""
        return max(int(self._account.nonce), self._used_nonces)

    def nonce_is_used(self, nonce: int) -> None:
        """Take note that a transaction is in a block.

        Args:
            nonce: Its nonce.
        """
        self._used_nonces = max(self._used_nonces, nonce + 1)

    def sign_unattended(self) -> None:
        """Sign without asking. A key file takes its passphrase from `APE_ACCOUNTS_<alias>_PASSPHRASE`, or asks once."""
        if hasattr(self._account, "set_autosign"):
            self._account.set_autosign(True)

    def highest_fee(self) -> int:
        """Return the most that a unit of gas may cost in a transaction that is signed at present.

        Returns:
            The fee in wei.
        """
        prepared = self._prepared(self.address, b"", 0)
        return int(getattr(prepared, "gas_price", None) or prepared.max_fee)

    def sign(self, receiver: ChecksumAddress, data: bytes, gas_limit: int) -> SignedTransaction:
        """Sign a transaction with the account's next nonce and the network's present fees.

        Args:
            receiver: Whom it calls.
            data: Its calldata.
            gas_limit: The most gas that it may take.

        Returns:
            The transaction.

        Raises:
            DeploymentError: If the user refuses to sign.
        """
        signed = self._account.sign_transaction(self._prepared(receiver, data, gas_limit))
        if signed is None:
            raise DeploymentError("The transaction was not signed.")
        return SignedTransaction(
            hash=f"0x{bytes(signed.txn_hash).hex()}", nonce=signed.nonce, raw=bytes(signed.serialize_transaction())
        )

    def _prepared(self, receiver: ChecksumAddress, data: bytes, gas_limit: int) -> TransactionAPI:
        """Return a transaction with nonce and fees. The node checks the balance."""
        provider = ape.networks.provider
        draft = provider.network.ecosystem.create_transaction(
            sender=self.address, receiver=receiver, data=data, value=0, gas_limit=gas_limit, nonce=self.next_nonce
        )
        prepared = provider.prepare_transaction(draft)
        prepared.chain_id = self._chain_id
        return prepared
