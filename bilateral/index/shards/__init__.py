"""An index on several PostgreSQL servers: each chain's tables are on one of them, and readers use a coordinator."""
