"""The addresses that a user gives a deployment: holders of roles, and contracts that differ from chain to chain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_utils.address import is_checksum_address, to_checksum_address

from scripts._deployment.errors import DeploymentError
from scripts._deployment.parameters import GIVEN, LIST

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from scripts._deployment.live_chain import Chain
    from scripts._deployment.parameters import ContractParameters

NOBODY = "0x" + "00" * 20


def given_addresses(parameters: Mapping[str, ContractParameters], texts: Iterable[str]) -> dict[str, str | list[str]]:
    """Read the addresses that a user gave.

    Args:
        parameters: The parameters by contract.
        texts: The addresses, as `attestor=0x…` or, for a list, `tokens=0x…,0x…`.

    Returns:
        The addresses by reference, as `{"given.attestor": "0x…", "given.tokens[]": ["0x…"]}`.

    Raises:
        DeploymentError: If one is missing, invalid, zero, named twice, or not asked for.
    """
    wanted = {reference for entry in parameters.values() for reference in entry.given_references}
    names = {reference.removeprefix(GIVEN).removesuffix(LIST): reference for reference in sorted(wanted)}
    addresses: dict[str, str | list[str]] = {}
    for text in texts:
        name, _, value = text.partition("=")
        if name not in names:
            raise DeploymentError(f"--given {text}: the parameters ask for {', '.join(names) or 'nothing'}.")
        if names[name] in addresses:
            raise DeploymentError(f"--given {name}: named twice.")
        addresses[names[name]] = _addresses(text, value) if names[name].endswith(LIST) else _address(text, value)
    for name, reference in names.items():
        if reference not in addresses:
            several = "ADDRESS,ADDRESS" if reference.endswith(LIST) else "ADDRESS"
            raise DeploymentError(f"{name} is not given: --given {name}={several}")
    return addresses


def require_contracts(chain: Chain, addresses: Mapping[str, str | list[str]]) -> None:
    """Make sure that the given contracts are there.

    Args:
        chain: The chain.
        addresses: The addresses by reference.

    Raises:
        DeploymentError: If an address of a list has no code.
    """
    for reference, value in addresses.items():
        for address in value if isinstance(value, list) else []:
            if not chain.code(to_checksum_address(address)):
                name = reference.removeprefix(GIVEN).removesuffix(LIST)
                raise DeploymentError(
                    f"Chain {chain.chain_id}: expected one of the {name} at {address}, found no code. Nothing was sent."
                )


def _addresses(text: str, value: str) -> list[str]:
    """Read a list of addresses."""
    addresses_of = [_address(text, part) for part in value.split(",")]
    if len(set(addresses_of)) != len(addresses_of):
        raise DeploymentError(f"--given {text}: an address is there twice.")
    return addresses_of


def _address(text: str, value: str) -> str:
    """Read an address."""
    if not is_checksum_address(value) or value == NOBODY:
        raise DeploymentError(f"--given {text}: expected an address other than zero, with a checksum, not {value!r}.")
    return value
