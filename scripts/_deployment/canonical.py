"""The canonical registries of ERC-8004 that a deployment refers to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_abi.abi import decode
from eth_utils.abi import abi_to_signature
from eth_utils.address import is_checksum_address, to_checksum_address
from eth_utils.crypto import keccak

from bilateral.core.contracts.records import address_book
from scripts._deployment.errors import DeploymentError
from scripts._deployment.parameters import CANONICAL

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from scripts._deployment.live_chain import Chain
    from scripts._deployment.parameters import ContractParameters
    from scripts._deployment.plan import PlannedContract


def canonical_addresses(
    chain_id: int, parameters: Mapping[str, ContractParameters], texts: Iterable[str]
) -> dict[str, str]:
    """Find the canonical registries that some parameters refer to.

    Args:
        chain_id: The chain.
        parameters: The parameters by contract.
        texts: Addresses that the user named, as `IdentityRegistry=0x…`. They replace those of the address book.

    Returns:
        The addresses by reference, as `{"canonical.IdentityRegistry": "0x…"}`.

    Raises:
        DeploymentError: If a registry is neither named nor in the address book, or a named address is invalid.
    """
    known = address_book().get(chain_id)
    addresses = {name: entry.address for name, entry in known.contracts.items()} if known else {}
    for text in texts:
        name, _, address = text.partition("=")
        if not is_checksum_address(address):
            raise DeploymentError(f"--canonical {text}: expected NAME=ADDRESS, with a checksum in the address.")
        addresses[name] = address
    wanted = {reference for entry in parameters.values() for reference in entry.canonical_references}
    for name in sorted(wanted - addresses.keys()):
        raise DeploymentError(
            f"Chain {chain_id}: deployments/canonical.json has no canonical {name} of this chain. If there is one, "
            f"name it: --canonical {name}=ADDRESS"
        )
    return {f"{CANONICAL}{name}": addresses[name] for name in sorted(wanted)}


def require_canonical(chain: Chain, plan: Iterable[PlannedContract], addresses: Mapping[str, str]) -> None:
    """Make sure that canonical registries are there, and that the contracts that use them accept them.

    Args:
        chain: The chain.
        plan: The contracts to deploy.
        addresses: The canonical registries by reference.

    Raises:
        DeploymentError: If an address has no code, or a constructor refuses it.
    """
    for reference, address in addresses.items():
        name = reference.removeprefix(CANONICAL)
        if not chain.code(to_checksum_address(address)):
            raise DeploymentError(
                f"Chain {chain.chain_id}: expected the canonical {name} at {address}, found no code. Nothing was sent."
            )
    for contract in plan:
        used = [value for value in contract.arguments.values() if value in addresses.values()]
        if used and (refusal := chain.refusal_to_create(contract)) is not None:
            raise DeploymentError(
                f"{contract.name}: expected an identity registry at {used[0]}, found a contract that its constructor "
                f"refuses with {_described(contract, refusal)}. Nothing was sent."
            )


def _described(contract: PlannedContract, refusal: bytes) -> str:
    """Put the data of a constructor's revert into words."""
    text = {"type": "error", "name": "Error", "inputs": [{"name": "reason", "type": "string"}]}
    for entry in [*contract.build.abi, text]:
        if entry["type"] == "error" and keccak(text=abi_to_signature(entry))[:4] == refusal[:4]:  # type: ignore[arg-type]  # as the compiler gave it
            values = decode([parameter["type"] for parameter in entry["inputs"]], refusal[4:])
            shown = (f"0x{value.hex()}" if isinstance(value, bytes) else str(value) for value in values)
            return f"{entry['name']}({', '.join(shown)})"
    return f"0x{refusal.hex()}"
