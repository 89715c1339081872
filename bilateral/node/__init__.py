"""JSON-RPC to a node: steps, transport, and the meaning of nodes' answers. This room does not know the client."""
