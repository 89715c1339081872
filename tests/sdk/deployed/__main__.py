"""`make deployed-registries`: runs every method of the client, and writes what works where into the documentation."""

from __future__ import annotations

from scripts._files import write_atomically
from tests.sdk.deployed import buyer_scenarios, scenarios  # noqa: F401  # they register themselves
from tests.sdk.deployed.catalogue import outcome
from tests.sdk.deployed.page import PAGE, public_names, with_table
from tests.sdk.deployed.world import canonical_chain, make_worlds


def main():
    """Write the table."""
    with canonical_chain() as url:
        outcomes = {
            name: {method: outcome(method, world) for method in public_names()}
            for name, world in make_worlds(url).items()
        }
    write_atomically(PAGE, with_table(PAGE.read_text(encoding="utf-8"), outcomes))


if __name__ == "__main__":
    main()
