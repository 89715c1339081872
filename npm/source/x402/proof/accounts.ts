/** Signatures of accounts, which terms may accept instead of those of listed keys. Loaded with the first one. */
import { keccak_256 } from "@noble/hashes/sha3";
import { hex, unbase58, unhex } from "./bytes.js";
import type { ChainReader } from "./chains.js";
import { checksummed, isEvm, type GlobalAgentId } from "./identifiers.js";
import { isEd25519, recovered } from "./keys.js";
import type { InteractionData } from "./statements.js";
import { failed } from "./stops.js";

/** Return an agent's wallet if it signed a statement, which terms may accept if the agent's file lists no keys. */
export async function walletSigner(
  reader: ChainReader,
  agent: GlobalAgentId,
  { interactionHash, signature }: InteractionData,
  block: bigint | null,
): Promise<string> {
  const wallet = await reader.wallet(agent, block);
  if (!wallet || !(await isSignatureOfAccount(interactionHash, signature, reader.chain, wallet))) {
    throw failed("signature_failed");
  }
  return wallet;
}

/** Check a plain account's signature: secp256k1 on an EVM chain, ed25519 elsewhere. */
export async function isSignatureOfAccount(
  digest: Uint8Array,
  signature: Uint8Array,
  chain: string,
  address: string,
): Promise<boolean> {
  if (!isEvm(chain)) return isEd25519(digest, signature, unbase58(address));
  return recovered(digest, signature).some((point) => addressOf(point) === checksummed(address.toLowerCase()));
}

/** Return a key's address from its point: 64 bytes in hexadecimal digits. */
function addressOf(point: string): string {
  return checksummed(`0x${hex(keccak_256(unhex(point) ?? new Uint8Array()).subarray(12))}`);
}
