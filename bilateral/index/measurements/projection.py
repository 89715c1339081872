"""The measurement projection: a rollback keeps measurements, and moves the blocks at which they were recorded."""

from collections.abc import Iterator

from sqlalchemy import update

from bilateral.index.log.projection import Projection, Removal
from bilateral.index.measurements.tables import endpoint_change, endpoint_day, endpoint_state


class Measurements(Projection):
    """The states and changes of endpoints, which watchtowers record."""

    name = "measurements"
    tables = (endpoint_state, endpoint_change, endpoint_day)

    def undo(self, removal: Removal) -> Iterator[None]:
        yield
        yield
        block, of_chain = removal.target.number, endpoint_change.c.chain_id == removal.chain_id
        later = of_chain & (endpoint_change.c.seen_block > block)
        # They are still true, but answers as of the last remaining block did not include them.
        removal.connection.execute(update(endpoint_change).where(later).values(seen_block=block + 1))
