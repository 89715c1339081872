"""The index: an SQL database that stores the events of all registries on any number of chains, exact as of every block.

`chain` reads blocks, `log` stores events, and `projections` lists the tables derived from them. The `index` extra
installs the dependencies. `docs/index.md` is the data dictionary.
"""
