// Semaphore identities, trees and proofs, for one request: JSON on standard input, JSON on standard output.
// Runs as a process of its own, in the folder into which npm installed the packages. A secret never is an argument.
import { readFileSync } from 'node:fs';
import { Group } from '@semaphore-protocol/group';
import { Identity } from '@semaphore-protocol/identity';
import { groth16 } from 'snarkjs';

const identityOf = (secret) => new Identity(Buffer.from(secret, 'hex'));
const rootOf = (members) => new Group(members).root.toString();

async function prove({ secret, members, scope, message, depth, circuit, key }) {
  const identity = identityOf(secret);
  const group = new Group(members);
  const { index, siblings } = group.generateMerkleProof(group.indexOf(identity.commitment));
  const { proof, publicSignals } = await groth16.fullProve(
    {
      secret: identity.secretScalar,
      merkleProofLength: siblings.length,
      merkleProofIndex: index,
      merkleProofSiblings: [...siblings, ...Array(depth - siblings.length).fill(0n)],
      scope,
      message,
    },
    circuit,
    key,
  );
  const { pi_a: a, pi_b: b, pi_c: c } = proof;
  return {
    root: publicSignals[0],
    nullifier: publicSignals[1],
    points: [a[0], a[1], b[0][1], b[0][0], b[1][1], b[1][0], c[0], c[1]],
  };
}

const OPERATIONS = {
  commitment: ({ secret }) => ({ commitment: identityOf(secret).commitment.toString() }),
  roots: ({ groups }) => ({ roots: groups.map(rootOf) }),
  prove,
};

const request = JSON.parse(readFileSync(0, 'utf8'));
const answer = await OPERATIONS[request.operation](request);
process.stdout.write(JSON.stringify(answer), () => process.exit(0)); // snarkjs leaves workers that would not end
