"""An index on several PostgreSQL servers. Each chain's tables are on one server, and readers use a coordinator."""
