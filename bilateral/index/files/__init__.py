"""Files that events refer to: found in the event tables, fetched via a queue in the database, read into tables.

`references` finds them, `queue` leases them, `worker` fetches them, `tables` describes the tables. The chain determines
which file is meant; a file contains what its author wrote. The two never share a row.
"""
