"""Prove a watchtower's measurement against the root that it put on chain.

    python prove_measurement.py EVIDENCE.json RPC_URL [BLOCK]

It needs Python alone, and trusts nobody but the node. The chain's state has the root of the last period; for an earlier
one, name a block of that time, as 0x and hexadecimal digits. See docs/watchtower.md.
"""

import json
import sys
import urllib.request
from hashlib import sha256
from pathlib import Path

path, rpc_url, block = [*sys.argv[1:], "latest"][:3]
measurement = json.loads(Path(path).read_bytes())["measurement"]
leaf = json.dumps(measurement["leaf"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
node = sha256(b"\0" + leaf.encode()).digest()
for step in measurement["path"]:
    neighbour = bytes.fromhex(step[1:])
    node = sha256(b"\1" + (neighbour + node if step[0] == "L" else node + neighbour)).digest()

registry, agent = measurement["watchtower"].split("#")
key = b"measurements".ljust(32, b"\0").hex()
data = f"0xcb4799f2{int(agent):064x}{64:064x}{12:064x}{key}"  # getMetadata(agent, "measurements")
call = {"to": registry.split(":")[2], "data": data}
request = {"jsonrpc": "2.0", "id": 1, "method": "eth_call", "params": [call, block]}
headers = {"Content-Type": "application/json"}
post = urllib.request.Request(rpc_url, json.dumps(request).encode(), headers)  # noqa: S310  # the reader's own node
with urllib.request.urlopen(post) as answer:  # noqa: S310
    root = bytes.fromhex(json.load(answer)["result"][2:])[64:96]
print(f"{'proven' if root == node else 'not proven'}: {leaf}")
sys.exit(root != node)
