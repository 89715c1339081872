"""GraphQL over the index, compatible with the published SDKs of ERC-8004. `docs/graphql.md` is its manual."""
