"""Files that events refer to. They are found in the event tables, fetched via a queue, and parsed into tables.

`references` finds files, `queue` leases them, `worker` fetches them, and `tables` describes the tables. Events
determine which files exist, but a file contains whatever its author wrote. On-chain data and the contents of files are
therefore never stored in the same row.
"""
