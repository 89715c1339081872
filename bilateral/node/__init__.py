"""JSON-RPC requests to a node: steps, transport, and response parsing. This package does not depend on the client."""
