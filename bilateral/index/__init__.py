"""The index: an SQL database that stores the events of all registries on any number of chains, exact as of every block.

`follow` reads a chain and writes rows, `schema` describes the tables, and `queries` reads them. The `index` extra
installs the dependencies. `docs/index.md` is the data dictionary.
"""
