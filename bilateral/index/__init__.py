"""The index: the events of all registries on any number of chains, in an SQL database, exact at every block.

`follow` reads a chain and writes rows, `schema` describes the tables, `queries` reads them. The `index` extra installs
the dependencies; `docs/index.md` is the data dictionary.
"""
