"""The tables of the index: schemas, column types, views and partitions."""
