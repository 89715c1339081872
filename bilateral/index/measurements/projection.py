"""The measurement projection. A rollback keeps measurements, but moves those at removed blocks to another block."""

from collections.abc import Iterator

from bilateral.index.files.observations import move_observations
from bilateral.index.log.projection import Projection, Removal
from bilateral.index.measurements.tables import endpoint_change, endpoint_day, endpoint_state


class Measurements(Projection):
    """The states and changes of endpoints, as recorded by watchtowers."""

    name = "measurements"
    tables = (endpoint_state, endpoint_change, endpoint_day)

    def undo(self, removal: Removal) -> Iterator[None]:
        yield
        yield
        move_observations(removal.connection, endpoint_change, removal.chain_id, removal.target.number)
