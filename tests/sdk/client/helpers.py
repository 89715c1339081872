"""What the client's tests do with plain web3.py."""

from __future__ import annotations

import json

from bilateral.contracts import abi


def deploy(web3, container, *arguments):
    """Deploy a compiled contract from the chain's first account, and return its address."""
    compiled = container.contract_type
    contract = web3.eth.contract(
        abi=json.loads(compiled.model_dump_json(by_alias=True, exclude_none=True))["abi"],
        bytecode=compiled.deployment_bytecode.bytecode,
    )
    sent = contract.constructor(*arguments).transact({"from": web3.eth.accounts[0]})
    return web3.eth.wait_for_transaction_receipt(sent, poll_latency=0.02)["contractAddress"]


def plain(web3, registry, address):
    """A registry for plain web3.py, which knows its ABI and nothing of this package."""
    return web3.eth.contract(address=address, abi=list(abi(registry)))


def transact(web3, function, sender):
    """Send a transaction by plain web3.py, signed by an eth-account account, and return its receipt."""
    transaction = function.build_transaction(
        {"from": sender.address, "nonce": web3.eth.get_transaction_count(sender.address, "pending")}
    )
    sent = web3.eth.send_raw_transaction(sender.sign_transaction(transaction).raw_transaction)
    return web3.eth.wait_for_transaction_receipt(sent, poll_latency=0.02)
