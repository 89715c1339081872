// Semaphore identities, trees and proofs, for one request: JSON on standard input, JSON on standard output.
// Runs as a process of its own, in the folder into which npm installed the packages. A secret never is an argument.
import { readFileSync } from 'node:fs';
import { Identity } from '@semaphore-protocol/identity';
import { IMT } from '@zk-kit/imt';
import { poseidon2 } from 'poseidon-lite/poseidon2';
import { groth16 } from 'snarkjs';

const identityOf = (secret) => new Identity(Buffer.from(secret, 'hex'));

// Filled up with zeros to the depth of the circuit. In Semaphore's own groups, which are only as deep as their members
// need, a leaf that is the root of a further tree has valid paths below it: each of its identities is a member then.
const treeOf = (members, depth) => new IMT(poseidon2, depth, 0n, 2, members.map(BigInt));

const bytesOf = (numbers) => numbers.map((number) => number.toString(16).padStart(64, '0')).join('');
const numbersOf = (bytes) => bytes.match(/.{64}/g).map((word) => BigInt(`0x${word}`));

function sign({ secret, message }) {
  const identity = identityOf(secret);
  const { R8, S } = identity.signMessage(BigInt(message));
  return { identity: bytesOf([...identity.publicKey, ...R8, S]) };
}

function isProven({ commitment, identity, message }) {
  const [x, y, rx, ry, S] = numbersOf(identity);
  try {
    const isCommitted = Identity.generateCommitment([x, y]) === BigInt(commitment);
    return isCommitted && Identity.verifySignature(BigInt(message), { R8: [rx, ry], S }, [x, y]);
  } catch {
    return false; // a stranger chose the numbers
  }
}

async function prove({ secret, members, scope, message, depth, circuit, key }) {
  const identity = identityOf(secret);
  const tree = treeOf(members, depth);
  const index = tree.indexOf(identity.commitment);
  const siblings = tree.createProof(index).siblings.flat();
  const { proof, publicSignals } = await groth16.fullProve(
    {
      secret: identity.secretScalar,
      merkleProofLength: depth,
      merkleProofIndex: index,
      merkleProofSiblings: siblings,
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
  sign,
  proven: ({ claims }) => ({ proven: claims.map(isProven) }),
  roots: ({ groups, depth }) => ({ roots: groups.map((members) => treeOf(members, depth).root.toString()) }),
  prove,
};

const request = JSON.parse(readFileSync(0, 'utf8'));
const answer = await OPERATIONS[request.operation](request);
process.stdout.write(JSON.stringify(answer), () => process.exit(0)); // snarkjs leaves workers that would not end
