"""`make census`: measures the agents of the demo world, and writes who is alive into docs/census.md."""

from __future__ import annotations

import tempfile
import threading
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bilateral.dev.anvil import find_anvil
from bilateral.dev.world import Ports, running_world
from bilateral.documents import Loader, Network
from bilateral.index.files.worker import ReferenceScan
from bilateral.index.log.database import open_database, snapshot
from bilateral.index.measurements.targets import read_targets
from bilateral.index.measurements.values import REACHABLE
from bilateral.index.operating.settings import ChainSettings
from bilateral.index.operating.worker import Worker
from bilateral.index.projections import READERS
from bilateral.watchtower.probes import Asker, ProbeSettings, probe
from scripts._anvil import ANVIL
from scripts._build import ROOT

if TYPE_CHECKING:
    from bilateral.index.measurements.values import Target
    from bilateral.watchtower.outcomes import Probe

PAGE: Final = ROOT / "docs" / "census.md"

_HEAD: Final = """# Census of the demo world

This census shows which agents are alive in the market that `bilateral dev` starts, based on one probe of each endpoint.
`make census` repeats the measurement and writes this page; [watchtower.md](watchtower.md) shows how to take a census of
a public chain.
"""


def measured(folder: Path) -> list[tuple[Target, Probe]]:
    """Start the demo world, index it, and probe each endpoint of its agents once."""
    with running_world(find_anvil(ANVIL), folder, Ports(0, 0, 0, 0)) as world:
        engine = open_database(f"sqlite:///{folder / 'index.sqlite'}")
        chain = ChainSettings((world.rpc_url,), (world.deployment,))
        Worker(engine, chain, stop=threading.Event()).run(until_head=True)
        files = ReferenceScan(engine, world.deployment.chain_id, Loader(), READERS)
        while files.step() is not None:
            pass
        with snapshot(engine) as connection:
            targets = read_targets(connection, [world.deployment.chain_id])
        settings = ProbeSettings("https://bilateral.example/watchtower", Network(allow_private=True))
        probes = [(target, probe(Asker(target, settings, is_deep=True))) for target in targets]
        engine.dispose()
    return probes


def page(probes: list[tuple[Target, Probe]]) -> str:
    """Return the page of a census."""
    alive = [target for target, result in probes if result.outcome in REACHABLE]
    agents, alive_agents = ({agent for target in part for agent in target.agents} for part in (dict(probes), alive))
    hosts = len({target.host for target in alive})
    counts = Counter((target.protocol, result.outcome, result.code) for target, result in probes)
    rows = [
        f"| {protocol} | {outcome} | `{code}` | {number} |"
        for (protocol, outcome, code), number in sorted(counts.items())
    ]
    on_hosts = f"on {hosts} host{'s' * (hosts != 1)}"
    summary = f"Alive: {len(alive_agents)} of {len(agents)} agents that list an endpoint, {on_hosts}."
    table = ["| protocol | outcome | code | endpoints |", "| --- | --- | --- | ---: |", *rows]
    return "\n".join((_HEAD, summary, "", *table, ""))


def main() -> None:
    """Measure, and write the page."""
    with tempfile.TemporaryDirectory() as folder:
        PAGE.write_text(page(measured(Path(folder))), encoding="utf-8")


if __name__ == "__main__":
    main()
