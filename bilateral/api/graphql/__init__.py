"""GraphQL over the index, compatible with the published ERC-8004 SDKs. `docs/graphql.md` is its manual."""
