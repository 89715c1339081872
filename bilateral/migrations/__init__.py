"""The tables of a database, by version. Those of the aggregator are here, as databases without its extra have them."""
