"""Stand-ins for the deployed ERC-8004 registries, each behind a proxy whose owner can replace the code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eth_utils.address import to_checksum_address

if TYPE_CHECKING:
    from ape.api import AccountAPI
    from ape.contracts import ContractInstance

IMPLEMENTATION_SLOT = 0x360894A13BA1A3210667C828492DB98DCA3E2076CC3735A920A3CA505D382BBC
"""The slot of a proxy's implementation (ERC-1967)."""


def deploy_behind_proxy(project: Any, deployer: AccountAPI, name: str, *arguments: Any) -> ContractInstance:
    """Deploy a stand-in as the authors of ERC-8004 deployed the registry.

    Args:
        project: Ape's project.
        deployer: The account that deploys, and then owns the proxy.
        name: The stand-in, as `MockDeployedIdentityRegistry`.
        *arguments: The arguments of its `initialize` after the owner.

    Returns:
        The registry at the proxy's address.
    """
    contract = getattr(project, name)
    implementation = deployer.deploy(contract)
    initialization = implementation.initialize.encode_input(deployer, *arguments)
    proxy = deployer.deploy(project.MockDeployedProxy, implementation, initialization)
    return contract.at(proxy.address)


def implementation_of(registry: ContractInstance) -> str:
    """Return the address of the code behind a registry's proxy."""
    word = registry.provider.get_storage(registry.address, IMPLEMENTATION_SLOT)
    return to_checksum_address(word[12:])
