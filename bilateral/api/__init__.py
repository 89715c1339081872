"""The service over HTTP: REST, GraphQL, MCP and its own metrics. `create_app` builds it."""
