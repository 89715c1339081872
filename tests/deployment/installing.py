"""Contracts that a test puts on its chain before it deploys: a canonical identity registry, a payment token."""

from __future__ import annotations

import ape

from bilateral.core.contracts.records import address_book
from tests.deployed import IMPLEMENTATION_SLOT
from tests.deployment.conftest import BASE_SEPOLIA

CANONICAL = address_book()[BASE_SEPOLIA].contracts["IdentityRegistry"].address


def install_stand_in(network):
    """Put the stand-in at the canonical address, behind a proxy."""
    implementation = _create(network, ape.project.MockDeployedIdentityRegistry)
    proxy = bytes(ape.project.MockDeployedProxy.contract_type.get_runtime_bytecode())
    network.request("anvil_setCode", CANONICAL, f"0x{proxy.hex()}")
    word = f"0x{bytes(12).hex()}{implementation[2:]}"
    network.request("anvil_setStorageAt", CANONICAL, f"0x{IMPLEMENTATION_SLOT:064x}", word)


def install_token(network):
    """Deploy a payment token by plain creation, and return its address."""
    return network.provider.web3.to_checksum_address(_create(network, ape.project.MockPaymentToken))


def _create(network, container):
    """Deploy a contract by plain creation, and return its address as the node writes it."""
    creation = bytes(container.contract_type.get_deployment_bytecode())
    created = network.send({"from": network.account.address, "data": f"0x{creation.hex()}", "gas": 10_000_000})
    return network.request("eth_getTransactionReceipt", created)["contractAddress"]
