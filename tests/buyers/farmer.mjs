// Tries to be several members with one commitment, the root of a tree of its own identities: prints the numbers
// (nullifiers) for which the circuit has a witness with the posted root. Runs in the folder of the prover, with
// { members, farmer, secrets, root, circuit } as its argument. `farmer` is the place of the commitment in the group;
// without `root`, that of Semaphore's own group is posted.
import { Identity } from '@semaphore-protocol/identity';
import { poseidon2 } from 'poseidon-lite/poseidon2';
import { wtns } from 'snarkjs';

const DEPTH = 20;
const { members, farmer, secrets, root, circuit } = JSON.parse(process.argv[1]);
const identities = secrets.map((secret) => new Identity(Buffer.from(secret, 'hex')));

// The siblings of a leaf from below; `fill` gives what stands for a missing right sibling, or nothing as in Semaphore.
function pathOf(leaves, index, fill) {
  let [level, place, zero] = [leaves.map(BigInt), index, 0n];
  const path = [];
  while (fill ? path.length < DEPTH : level.length > 1) {
    const sibling = level[place ^ 1] ?? (fill ? zero : undefined);
    if (sibling !== undefined) path.push([sibling, place & 1]);
    const above = [];
    for (let i = 0; i < level.length; i += 2) {
      const right = level[i + 1] ?? (fill ? zero : undefined);
      above.push(right === undefined ? level[i] : poseidon2([level[i], right]));
    }
    [level, place, zero] = [above, place >> 1, poseidon2([zero, zero])];
  }
  return { path, top: level[0] };
}

async function publicSignals(identity, path, length) {
  const known = path.slice(0, DEPTH);
  const witness = { type: 'mem' };
  const input = {
    secret: identity.secretScalar,
    merkleProofLength: length,
    merkleProofIndex: known.reduce((sum, [, bit], level) => sum + bit * 2 ** level, 0),
    merkleProofSiblings: [...known.map(([sibling]) => sibling), ...Array(DEPTH - known.length).fill(0n)],
    scope: 1n,
    message: 1n,
  };
  await wtns.calculate(input, circuit, witness);
  return wtns.exportJson(witness);
}

const posted = root ?? String(pathOf(members, farmer, false).top);
const own = identities.map((identity) => identity.commitment);
const numbers = new Set();
for (const [index, identity] of identities.entries()) {
  const below = pathOf(own, index, false);
  if (String(below.top) !== members[farmer]) throw new Error(`the commitment is ${below.top}`);
  for (const fill of root ? [false, true] : [false]) {
    const path = [...below.path, ...pathOf(members, farmer, fill).path];
    for (const length of new Set([path.length, Math.min(path.length, DEPTH)])) {
      const [, found, nullifier] = await publicSignals(identity, path, length);
      if (String(found) === posted) numbers.add(String(nullifier));
    }
  }
}
process.stdout.write(JSON.stringify([...numbers]), () => process.exit(0));
