"""Time and requests that payments take to read, without payments by Permit2 and with a share of them.

python -m bench.index.payments --payments 20000 --permit2 0.01
"""

# mypy: allow-untyped-calls

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import ape
from ape.logging import LogLevel, logger
from sqlalchemy import func, select

from bench.index.measurement import databases
from bench.index.runs import CHAIN_ID, index_all, measured
from bench.report import options, print_table
from bilateral.index.chain.endpoint import Endpoint
from bilateral.index.chain.pool import Pool
from bilateral.index.chain.source import Source
from bilateral.index.log.database import open_database
from bilateral.index.payments.tables import payment
from bilateral.index.payments.terms import PaymentTerms
from bilateral.index.payments.worker import PaymentFollower, PaymentStore
from bilateral.node.json_rpc import Reply
from scripts._anvil import running_anvil
from simulation.event_chain import OPTIONS, EventChain
from tests.index.payments.world import TOKEN, Payments, account
from tests.permit2 import PaymentChain

_RUNS: Final = 3
_PAYMENTS_A_BLOCK: Final = 100
_BUYERS: Final = 1_000


class CountingEndpoint(Endpoint):
    """An endpoint that counts its requests, a batch as one."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.requests = Counter[str]()

    def _post(self, method: str, content: Any) -> Reply:
        self.requests[method] += 1
        return super()._post(method, content)


def read_payments(database: str, endpoint: Endpoint, token: str, metered: str) -> int:
    """Read the payments of an indexed chain in two tokens, and return their number."""
    engine = open_database(database)
    store = PaymentStore(engine, CHAIN_ID, PaymentTerms({token: 6, metered: 6}))
    following = PaymentFollower(store, Pool(CHAIN_ID, [Source(endpoint, [])]))
    while following.step():
        pass
    with engine.connect() as connection:
        return int(connection.execute(select(func.count()).select_from(payment)).scalar_one())


def read_all_payments(database: str, url: str, token: str, metered: str) -> int:
    """Read the payments of an indexed chain. See `read_payments`."""
    return read_payments(database, Endpoint(url), token, metered)


def main() -> None:
    """Measure, and print the table."""
    arguments = options(__doc__, payments=20_000, permit2=0.01)
    logger.set_level(LogLevel.WARNING)
    code = ape.project.MockLogEmitter.contract_type.runtime_bytecode.bytecode
    with tempfile.TemporaryDirectory() as folder:
        shares = (0.0, arguments.permit2)
        rows = [row for share in shares for row in _figures(folder, code, arguments, share)]
    print_table("Payments, on this machine", "engine", "what", "figure", rows=rows)


def _figures(folder: str, code: str, arguments: argparse.Namespace, share: float) -> Iterator[tuple[str, str, str]]:
    """Yield the figures of reading payments, of which a share is by Permit2, on each engine."""
    with running_anvil(*OPTIONS) as url:
        chain = EventChain(url, code)
        world, market = Payments(chain, code), PaymentChain(url, ape.project)
        seller, buyer = account("seller"), market.buyer(10**12)
        world.mine(world.register(1, seller))
        by_permit2 = round(share * _PAYMENTS_A_BLOCK)
        for block in range(arguments.payments // _PAYMENTS_A_BLOCK):
            for number in range(by_permit2):
                market.broadcast(*market.call(market.exact(buyer, seller, number + 1)))
            first = block * _PAYMENTS_A_BLOCK
            payers = [account(f"buyer {number % _BUYERS}") for number in range(first + by_permit2, first + 100)]
            world.mine(*[world.pay(payer, seller, 1) for payer in payers])
        with databases(folder) as engines:
            for engine, fresh in engines.items():
                names = [f"payments_{share:g}_{number}".replace(".", "_") for number in range(_RUNS + 1)]
                for name in names:
                    open_database(fresh(name)).dispose()
                    index_all(fresh(name), url, 0)
                runs = [measured(read_all_payments, fresh(name), url, TOKEN, market.token) for name in names[1:]]
                run, endpoint = sorted(runs, key=lambda run: run.rate)[_RUNS // 2], CountingEndpoint(url)
                read_payments(fresh(names[0]), endpoint, TOKEN, market.token)
                requests = ", ".join(f"{count} {method}" for method, count in sorted(endpoint.requests.items()))
                work = f"{run.events:,} payments, {share:.0%} by Permit2, {run.cpu_seconds:.1f} s of CPU"
                yield engine, work, f"{run.rate:,.0f}/s"
                yield engine, f"requests, of {share:.0%} by Permit2", requests


if __name__ == "__main__":
    main()
