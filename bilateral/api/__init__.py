"""The HTTP service: REST, GraphQL, MCP and metrics. `create_app` builds it."""
