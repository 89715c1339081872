"""The tables of an analysis: columns and types, how they are read, and the arrays that they become."""
