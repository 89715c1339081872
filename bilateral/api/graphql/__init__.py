"""A GraphQL API for the index, compatible with the published ERC-8004 SDKs. See `docs/graphql.md`."""
