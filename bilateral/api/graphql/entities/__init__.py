"""The entities of the GraphQL schema as JSON, on both engines."""
