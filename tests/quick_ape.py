"""Spares Ape and web3.py work that no test needs. Of the time of a test that sends a transaction, most is Ape's.

It also keeps the processes of a run apart: Ape writes files of live networks in place, and others may read them then.
Nothing here changes a transaction or a call that a node gets, or its answer. But Ape does not look for
code at an address any more before it calls it. If there is none, a call fails with another error than Ape's, and a
transaction succeeds.
"""

from __future__ import annotations

import http.client
import threading
from functools import cache

import ape_test.accounts
import requests
from ape.api.networks import NetworkAPI
from ape.api.transactions import ReceiptAPI
from ape.contracts.base import ContractMethodHandler
from ape.managers._contractscache import ApeDataCache
from ape.managers._deploymentscache import DeploymentDiskCache
from ape.managers.networks import NodeProcessMap
from ape.pytest.gas import GasTracker
from ape_ethereum import provider
from ape_ethereum.ecosystem import Ethereum
from ape_ethereum.trace import Trace, TransactionTrace
from eth_keyfile import keyfile
from hexbytes import HexBytes
from web3 import HTTPProvider

from simulation.event_chain import Node

_CALLS = frozenset({"CALL", "CALLCODE", "DELEGATECALL", "STATICCALL"})
"""Steps of the EVM whose second operand is the address that they call."""

_READS = ("eth_get", "eth_call", "eth_block", "eth_chainId", "eth_estimateGas", "net_", "web3_")
"""Beginnings of the names of methods that change nothing: to ask twice does no harm."""


def _ask(self, method, request_data):
    """Ask a node for a provider of web3.py: by one connection a thread, and by no more code than this takes.

    The node may close a connection while it is not used. A read is sent once more then. A transaction is not: the node
    may have it.
    """
    mine = vars(self).setdefault("_mine", threading.local())
    if not hasattr(mine, "node"):
        mine.node = Node(self.endpoint_uri, self._request_kwargs.get("timeout", 120))
    is_kept = mine.node.is_connected
    try:
        try:
            status, content = mine.node.post(request_data)
        except (BrokenPipeError, ConnectionResetError):  # http.client.RemoteDisconnected is one of these
            if not (is_kept and method.startswith(_READS)):
                raise
            status, content = mine.node.post(request_data)
    except (OSError, http.client.HTTPException) as failure:
        raise requests.ConnectionError(f"{method}: {failure}") from failure
    if status != http.client.OK:
        answer = requests.Response()
        answer.status_code = status
        raise requests.HTTPError(f"{method}: HTTP status {status}", response=answer)
    return content


def spare_work():
    """Replace functions of Ape and web3.py by quicker ones."""
    # Ape derives the keys of its accounts anew each time that it looks for one.
    ape_test.accounts.generate_dev_accounts = cache(ape_test.accounts.generate_dev_accounts)
    # It asks for the last block before each transaction and each call, for its limit of gas. Anvil never changes it.
    of_node = provider.Web3Provider.max_gas.fget
    limits = {}
    provider.Web3Provider.max_gas = property(
        lambda node: limits[node.uri] if node.uri in limits else limits.setdefault(node.uri, of_node(node))
    )
    # It makes the settings of the network three times for each call, and reads all environment variables each time.
    NetworkAPI.config = property(
        _kept(NetworkAPI.config.fget, lambda network: (network.ecosystem_config, network.name))
    )
    Ethereum.default_transaction_type = property(
        _kept(
            Ethereum.default_transaction_type.fget,
            lambda ethereum: (
                ethereum.config,
                (node := ethereum.network_manager.active_provider) and node.network.name,
            ),
        )
    )
    # Requests of web3.py pass through a library that looks for proxies and passwords at each of them.
    HTTPProvider._make_request = _ask
    # It has the whole code of a contract sent once or twice before each call, to learn that there is some.
    ContractMethodHandler._validate_is_contract = lambda _: None
    # It has each transaction traced to print what contracts log to a console. None of ours does.
    provider._post_send_transaction = lambda *_: None
    # The n-th connection of a process names the contract of that console n times, each time in two files.
    provider.Web3Provider._post_connect = lambda _: None
    # It asks for the nonce of the sender after it has a receipt. Anvil counts a transaction before it gives that.
    ReceiptAPI._await_sender_nonce_increment = lambda _: None
    # It keeps contracts of live networks in files, for this run and later ones.
    ApeDataCache._write_to_disk = ApeDataCache._read_from_disk = property(lambda _: False, lambda *_: None)
    DeploymentDiskCache._is_live_network = property(lambda _: False)
    # It keeps a list of the nodes of all runs, and compares each with a node that ends.
    NodeProcessMap.cache_provider = NodeProcessMap.remove_provider = lambda *_: None
    # To name the error of a contract that another one called, it reads each step of a transaction, with all memory.
    TransactionTrace.get_addresses_used = _called
    # To encrypt a key takes half a second on purpose, so that passphrases are costly to guess.
    keyfile.get_default_work_factor_for_kdf = lambda _: 1024
    # For `ape test --gas` it traces each call, too, and then returns None in place of a struct.
    provider.Web3Provider.send_call = _untracked(provider.Web3Provider.send_call)
    # It prints the trace of each transaction that reverts, as most in these tests are meant to.
    Trace.show = lambda *_, **__: None


def _kept(derive, source):
    """Give a function that derives a value once from a configuration and a name, and again from another configuration.

    Args:
        derive: The function that derives it.
        source: Returns the configuration and the name.
    """
    kept = {}

    def get(owner):
        config, name = source(owner)
        of_config, value = kept.get(name, (None, None))
        if of_config is not config:
            value = derive(owner)
            kept[name] = config, value
        return value

    return get


def _untracked(send_call):
    """Give a function that calls a contract without a trace for the report of gas, which is about transactions."""

    def call(*args, **options):
        usual, GasTracker.enabled = GasTracker.enabled, False
        try:
            return send_call(*args, **options)
        finally:
            GasTracker.enabled = usual

    return call


def _called(trace, reverse=False):  # as Ape declares it
    """Give the addresses that a transaction calls, in the order of the calls or from the last one to the first."""
    request = [trace.transaction_hash, {"disableStorage": True}]
    steps = trace.provider.make_request("debug_traceTransaction", request)["structLogs"]
    for step in reversed(steps) if reverse else steps:
        if step["op"] in _CALLS:
            yield trace._ecosystem.decode_address(HexBytes(int(step["stack"][-2], 16).to_bytes(32)[-20:]))
