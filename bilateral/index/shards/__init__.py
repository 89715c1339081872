"""An index on several PostgreSQL servers: each chain's tables on one of them, and a coordinator for readers."""
