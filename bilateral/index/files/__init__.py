"""Files that events refer to: found in the event tables, fetched via a queue in the database, and parsed into tables.

`references` finds files, `queue` leases them, `worker` fetches them, and `tables` describes the tables. The chain
determines which file is meant, but a file contains whatever its author wrote. On-chain data and the contents of files
therefore never share a row.
"""
