"""Change a SATI agent as its owner: its URI, metadata, wallet or holder. Registration needs SATI's own client.

Example:
    with SatiIdentity("https://api.mainnet-beta.solana.com", MAINNET, secret) as identity:
        identity.set_uri(mint, "ipfs://…")
        identity.set_wallet(mint, wallet)
"""

from typing import Final

from bilateral.core.errors import MalformedIdentifierError
from bilateral.core.errors.solana import SolanaWriteError
from bilateral.core.identifiers.caip import AccountId, ChainId
from bilateral.node import answers
from bilateral.node.closing import Closing
from bilateral.node.running import StepRunner
from bilateral.node.steps import Operation, Rpc
from bilateral.node.transport import Transport
from bilateral.solana import instructions
from bilateral.solana.addresses import address_bytes
from bilateral.solana.instructions import Call
from bilateral.solana.nodes import Commitment, SolanaNode, whole
from bilateral.solana.sati import WALLET_KEY, SatiAgent, read_agent
from bilateral.solana.sending import keypair_of, send

_OWN_FIELDS: Final = frozenset({"name", "symbol", "uri"})
"""The fields that token metadata always contains. They do not count as an agent's additional fields."""

_LENGTHS: Final = 8
"""The number of bytes in which the lengths of a key and its value are stored."""


class SatiIdentity(Closing):
    """Changes SATI agents using their owner's key. Each write is simulated, sent once, and awaited.

    Args:
        provider: The URL of a node.
        chain: The chain (CAIP-2).
        secret: The owner's key: a 32-byte seed, or the 64 bytes in a Solana key file.
        commitment: The commitment level to wait for after a write: `confirmed` or `finalized`.
        seconds: The maximum time to wait for a transaction. A blockhash expires after about 90 seconds.
        request_timeout: The timeout for one request to the node, in seconds.

    Raises:
        MissingExtraError: The extra `solana` is not installed.
        SolanaWriteError: The key is malformed.
        InvalidArgumentError: The chain is not a Solana chain, or the URL is invalid.
    """

    def __init__(  # noqa: PLR0913  # settings, all but three with a default
        self,
        provider: str,
        chain: str | ChainId,
        secret: bytes,
        *,
        commitment: Commitment = "confirmed",
        seconds: float = 90.0,
        request_timeout: float = 30.0,
    ) -> None:
        self._keypair, self._seconds = keypair_of(secret), seconds
        self._node = SolanaNode(chain if isinstance(chain, ChainId) else ChainId.parse(chain), commitment)
        self._transport = Transport(provider, request_timeout)
        self._run = StepRunner(self._transport).run

    def close(self) -> None:
        """Close the connections to the node."""
        self._transport.close()

    @property
    def address(self) -> str:
        """The owner's address."""
        return str(self._keypair.pubkey())

    def agent(self, mint: str) -> SatiAgent:
        """Return everything that is stored on chain about an agent.

        Raises:
            SolanaError: The accounts do not prove the agent. See `code`.
        """
        return self._run(read_agent(self._node, mint))

    def set_uri(self, mint: str, uri: str) -> str:
        """Set the URI of an agent's registration file.

        Args:
            mint: The agent's mint.

        Returns:
            The transaction's id.

        Raises:
            SolanaError: The agent does not belong to this owner, or the transaction failed. See `code`.
        """
        return self._run(self._set(mint, instructions.URI, uri))

    def set_metadata(self, mint: str, key: str, value: str) -> str:
        """Set an additional field in an agent's metadata. See `set_uri`. To set the wallet, use `set_wallet`."""
        if not key or key in _OWN_FIELDS or key == WALLET_KEY:
            raise SolanaWriteError(f"the key {key!r} is reserved: use `set_uri` or `set_wallet`", "reserved_key")
        return self._run(self._set(mint, key, value))

    def set_wallet(self, mint: str, wallet: str) -> str:
        """Set the account that receives an agent's payments. See `set_uri`.

        Args:
            mint: The agent's mint.
            wallet: The wallet's address, or its CAIP-10 id on this chain. It is stored as a CAIP-10 id.
        """
        try:
            account = AccountId.parse(wallet) if ":" in wallet else AccountId(self._node.chain, wallet)
        except MalformedIdentifierError as error:
            raise SolanaWriteError(f"the wallet's address is malformed: {error}", "malformed_wallet") from None
        if account.chain != self._node.chain:
            raise SolanaWriteError(f"the wallet {account} is not on {self._node.chain}", "malformed_wallet")
        return self._run(self._set(mint, WALLET_KEY, str(account)))

    def remove(self, mint: str, key: str) -> str:
        """Remove an additional metadata field. See `set_uri`. If the wallet is removed, payments go to the holder."""
        return self._run(self._remove(mint, key))

    def transfer(self, mint: str, to: str) -> str:
        """Transfer an agent with everything that controls it, and clear its wallet, as in ERC-8004.

        Args:
            mint: The agent's mint.
            to: The new owner.

        Returns:
            The transaction's id.

        Raises:
            SolanaError: The agent does not belong to this owner or is soulbound, or the transaction failed. See `code`.
        """
        return self._run(self._transfer(mint, to))

    def _owned(self, mint: str) -> Operation[SatiAgent]:
        agent = yield from read_agent(self._node, mint)
        if agent.holder != self.address:
            raise SolanaWriteError(
                f"the agent {mint} belongs to {agent.holder}, not to {self.address}", "not_the_owner"
            )
        return agent

    def _set(self, mint: str, key: str, value: str) -> Operation[str]:
        """Set a metadata field, and pay the rent for additional bytes."""
        agent = yield from self._owned(mint)
        present = agent.uri if key == instructions.URI else agent.metadata.entries.get(key)
        grown = len(value.encode()) - len((present or "").encode())
        if present is None:
            grown += _LENGTHS + len(key.encode())
        calls = yield from self._rent(mint, grown)
        return (yield from self._send([*calls, instructions.set_field(mint, self.address, key, value)]))

    def _rent(self, mint: str, grown: int) -> Operation[list[Call]]:
        """Return the instruction that pays the rent for additional bytes in a mint, if its lamports do not suffice."""
        if grown <= 0:
            return []
        options = {"encoding": "base64", "commitment": self._node.commitment}
        answer = yield from self._node.ask(Rpc("getAccountInfo", (mint, options)))
        account = answers.record(answers.record(answer).get("value"))
        needed = yield Rpc("getMinimumBalanceForRentExemption", (whole(account.get("space")) + grown,))
        missing = whole(needed) - whole(account.get("lamports"))
        return [instructions.pay_rent(self.address, mint, missing)] if missing > 0 else []

    def _remove(self, mint: str, key: str) -> Operation[str]:
        agent = yield from self._owned(mint)
        if key not in agent.metadata.entries:
            raise SolanaWriteError(f"the agent {mint} has no metadata {key[:64]!r}", "missing_key")
        return (yield from self._send([instructions.remove_field(mint, self.address, key)]))

    def _transfer(self, mint: str, to: str) -> Operation[str]:
        try:
            address_bytes(to)
        except MalformedIdentifierError as error:
            raise SolanaWriteError(f"the new owner's address is malformed: {error}", "malformed_owner") from None
        agent = yield from self._owned(mint)
        if agent.is_soulbound:
            raise SolanaWriteError(f"the agent {mint} is soulbound and cannot be transferred", "soulbound")
        if to == self.address:
            raise SolanaWriteError(f"{to} already holds the agent {mint}", "same_owner")
        calls = []
        if WALLET_KEY in agent.metadata.entries:
            calls.append(instructions.remove_field(mint, self.address, WALLET_KEY))
        calls += [
            instructions.make_token_account(self.address, to, mint),
            instructions.transfer_agent(mint, agent.token_account, self.address, to),
            instructions.hand_over_metadata(mint, self.address, to),
        ]
        if agent.pointer_authority == self.address:
            calls.append(instructions.hand_over_pointer(mint, self.address, to))
        return (yield from self._send(calls))

    def _send(self, calls: list[Call]) -> Operation[str]:
        return (yield from send(self._node, calls, self._keypair, self._seconds))
