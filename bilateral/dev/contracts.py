"""Deploys the registries and a payment token to a local chain, from the code in the package."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

from web3 import HTTPProvider, Web3

from bilateral.core.contracts import Registry, abi

TOKEN: Final = "MockPaymentToken"  # noqa: S105  # the name of a contract
"""The payment token, `Test Dollar`. It has six decimals, allows transfers by signature, and lets anyone mint it."""

TOKEN_DOMAIN: Final = {"name": "Test Dollar", "version": "2"}
"""The token's EIP-712 domain, for payers' signatures."""

CONTRACTS: Final = (
    *(Registry.IDENTITY, Registry.BIDIRECTIONAL, Registry.AUTHORIZED, Registry.VALIDATION),
    TOKEN,
    Registry.BUYERS,
)
"""The contracts in deployment order."""

CODE: Final = "code.json"
"""The package's file with the contracts' creation code, which `make abi` writes."""

_MINT: Final = {
    "type": "function",
    "name": "mint",
    "inputs": [{"name": "account", "type": "address"}, {"name": "value", "type": "uint256"}],
    "outputs": [],
    "stateMutability": "nonpayable",
}
_POLL_SECONDS: Final = 0.01  # the local node mines at once


@cache
def creation_code() -> Mapping[str, str]:
    """Return the creation code of each contract, keyed by name, in hexadecimal with 0x."""
    return dict(json.loads((files("bilateral.dev") / CODE).read_text(encoding="utf-8")))


class LocalChain:
    """A chain on which anvil's first account deploys contracts and mints tokens.

    Args:
        rpc_url: The URL of anvil's RPC.
    """

    def __init__(self, rpc_url: str) -> None:
        self._web3 = Web3(HTTPProvider(rpc_url))
        self._deployer = self._web3.eth.accounts[0]

    @property
    def chain_id(self) -> int:
        """The chain's EIP-155 id."""
        return self._web3.eth.chain_id

    def deploy(self) -> tuple[dict[str, Any], str]:
        """Deploy all contracts."""
        addresses: dict[str, str] = {}
        entries: dict[str, Any] = {}
        for name in CONTRACTS:
            entries[name] = self._create(name, *self._arguments(name, addresses))
            addresses[name] = entries[name]["address"]
        token = entries.pop(TOKEN)["address"]
        return {"chainId": self.chain_id, "network": "local", "contracts": entries}, token

    def mint(self, token: str, account: str, amount: int) -> None:
        """Mint tokens for an account."""
        contract = self._web3.eth.contract(address=Web3.to_checksum_address(token), abi=[_MINT])
        self._mined(contract.functions.mint(account, amount).transact({"from": self._deployer}))

    def _arguments(self, name: str, addresses: Mapping[str, str]) -> tuple[Any, ...]:
        if name in {Registry.IDENTITY, TOKEN}:
            return ()
        identity = addresses[Registry.IDENTITY]
        if name == Registry.BUYERS:
            return (identity, [addresses[TOKEN]], self._deployer, self._deployer)
        return (identity,)

    def _create(self, name: str, *arguments: Any) -> dict[str, Any]:
        entries: Any = [] if name == TOKEN else list(abi(Registry(name)))
        contract = self._web3.eth.contract(abi=entries, bytecode=creation_code()[name])
        receipt = self._mined(contract.constructor(*arguments).transact({"from": self._deployer}))
        return {"address": receipt["contractAddress"], "block": receipt["blockNumber"]}

    def _mined(self, transaction: Any) -> Any:
        receipt = self._web3.eth.wait_for_transaction_receipt(transaction, poll_latency=_POLL_SECONDS)
        if receipt["status"] != 1:
            raise RuntimeError(f"transaction {transaction.hex()} was reverted")
        return receipt
