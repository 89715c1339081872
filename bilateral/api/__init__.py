"""The service over HTTP: REST, GraphQL and MCP, and its own figures. `create_app` makes it."""
