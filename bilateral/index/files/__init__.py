"""Files that events refer to: found in the event tables, fetched via a queue in the database, and parsed into tables.

`references` finds them, `queue` leases them, `worker` fetches them, `tables` describes the tables. The chain determines
which file is meant, but a file contains whatever its author wrote, so on-chain data and file contents never share a
row.
"""
