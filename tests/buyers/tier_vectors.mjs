// Writes tier_vectors.json by Semaphore's own package for proofs, which the project does not install. Its version, and
// the artifacts of two depths, are those of the vectors' `made` field:
//   npm install @semaphore-protocol/core@4.14.2 && npm pack @zk-kit/semaphore-artifacts@4.13.0
//   node tier_vectors.mjs <folder of artifacts> <two accounts that hold proofs> > tier_vectors.json
import { Group, Identity, generateProof } from '@semaphore-protocol/core';
import { AbiCoder, keccak256, toUtf8Bytes } from 'ethers';

const folder = process.argv[2];
const abi = AbiCoder.defaultAbiCoder();
const hash = (kinds, values) => keccak256(abi.encode(kinds, values));
const gate = '0x0000000000000000000000000000000000008004';
const chainId = 31337;
const epoch = 22000;
const policy = keccak256(toUtf8Bytes('brp-1.0'));
const request = keccak256(toUtf8Bytes('the request'));
const holders = process.argv.slice(3);
const scopeOf = (place, day) =>
  hash(['string', 'uint256', 'address', 'bytes32', 'uint64'], ['bilateral-tier', chainId, place, policy, day]);
const messageOf = (holder) => hash(['address', 'bytes32'], [holder, request]);
const secrets = Array.from({ length: 25 }, (_, i) => `0x${(i + 1).toString(16).padStart(64, '0')}`);
const identities = secrets.map((secret) => new Identity(Buffer.from(secret.slice(2), 'hex')));
const members = identities.map((identity) => identity.commitment.toString());
const groups = [members, members.slice(0, 22), members.slice(0, 20)].map((leaves) => new Group(leaves));

async function proofOf({ member = 0, tier = 2, holder = holders[0], day = epoch, place = gate, depth = 20 }) {
  const artifacts = { wasm: `${folder}/semaphore-${depth}.wasm`, zkey: `${folder}/semaphore-${depth}.zkey` };
  const [message, scope] = [messageOf(holder), scopeOf(place, day)];
  const made = await generateProof(identities[member], groups[tier - 1], message, scope, depth, artifacts);
  const points = made.points.map(String);
  return { member, tier, holder, epoch: day, scope, message, depth, root: made.merkleTreeRoot, nullifier: made.nullifier, points };
}

const proofs = {
  trusted: await proofOf({}),
  trustedForAnother: await proofOf({ holder: holders[1] }),
  trustedOfYesterday: await proofOf({ day: epoch - 1 }),
  trustedElsewhere: await proofOf({ place: '0x0000000000000000000000000000000000008005' }),
  secondMember: await proofOf({ member: 1, holder: holders[1] }),
  verified: await proofOf({ tier: 1 }),
  shallow: await proofOf({ depth: 10 }),
};
const roots = groups.map((group) => group.root.toString());
const made = { '@semaphore-protocol/core': '4.14.2', '@zk-kit/semaphore-artifacts': '4.13.0' };
console.log(JSON.stringify({ made, gate, chainId, epoch, policy, request, secrets, members, roots, proofs }, null, 2));
process.exit(0);
