"""An index on several servers of PostgreSQL: each chain's tables on one of them, and a coordinator for readers."""
