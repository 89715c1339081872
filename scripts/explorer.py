"""`ape run explorer`: a block explorer on this machine, to rehearse `ape run verify` before it counts."""

from __future__ import annotations

import signal
import threading

import click
from web3 import HTTPProvider, Web3

from scripts._deployment.block_explorer import KEY, block_explorer
from scripts._deployment.verification import KEY_VARIABLE


@click.command()
@click.option("--node", required=True, metavar="URL", help="The node of a local chain, such as http://127.0.0.1:8545.")
@click.option("--port", default=0, help="The port of the explorer; a free one if left out.")
def cli(node: str, port: int) -> None:
    """Compile what is submitted, compare it with the code on the chain, and give a verdict, until Ctrl-C."""
    chain_id = Web3(HTTPProvider(node)).eth.chain_id
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    with block_explorer({chain_id: node}, port) as explorer:
        click.echo(f"The explorer of chain {chain_id} is at {explorer.url}. Ctrl-C stops it.")
        click.echo("Deploy with --records FOLDER to the network of this chain, then verify what is on record there:")
        command = f"ape run verify --network NETWORK:{node} --records FOLDER --explorer {explorer.url}"
        click.echo(f"  {KEY_VARIABLE}={KEY} {command}")
        ended.wait()
