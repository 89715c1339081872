"""The index: events of all registries on any number of chains, in SQL, exact at every block.

`follow` reads a chain and writes rows, `schema` describes the tables, `queries` reads them. The extra `index` installs
the dependencies; `docs/index.md` is the data dictionary.
"""
