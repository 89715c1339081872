"""Files that events name: found in the tables of events, fetched by a queue in the database, and read into tables.

`references` finds them, `queue` leases them, `worker` fetches them, `tables` describes the tables. The chain says which
file is meant; a file says what its author wrote. The two never share a row.
"""
