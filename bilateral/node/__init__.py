"""JSON-RPC to a node: steps, transport, and the interpretation of nodes' answers. It does not depend on the client."""
