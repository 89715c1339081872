"""JSON-RPC to a node: steps, transport, and parsing of responses. This package does not depend on the client."""
