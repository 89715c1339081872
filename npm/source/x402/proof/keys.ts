/**
 * Checks of signatures made with agents' keys.
 *
 * A secp256k1 signature is `r`, `s` and `v` over the hash's 32 bytes, without any prefix; `v` is 0 or 1 and `s`
 * is low. An ed25519 signature is 64 bytes over the same 32 bytes.
 */
import { secp256k1 } from "@noble/curves/secp256k1";
import { hex, unhex } from "./bytes.js";

/** A key that signs an agent's answers, as its registration file lists it ("Signer Fields"). */
export interface Signer {
  /** The key in hexadecimal digits, without 0x. */
  readonly publicKey: string;
  readonly algorithm: "ed25519" | "secp256k1";
  readonly role: "owner" | "delegate" | null;
  /** The first second at which the key is valid, in Unix time. */
  readonly validFrom: number;
  /** The first second at which the key is no longer valid, or null. */
  readonly validUntil: number | null;
}

/** The keys that have signed before, for which `prepared.ts` is faster. */
const RECENT = new Set<string>();
const MOST_KEYS = 64;

const V: Readonly<Record<number, 0 | 1>> = { 0: 0, 1: 1, 27: 0, 28: 1 };

/**
 * Check a signature against one key.
 *
 * @param digest The 32 bytes that were signed.
 * @param signature The signature.
 * @param publicKey The public key in hexadecimal digits.
 * @param algorithm `secp256k1` or `ed25519`; any other verifies nothing.
 */
export async function isSignatureOf(
  digest: Uint8Array,
  signature: Uint8Array,
  publicKey: string,
  algorithm: string,
): Promise<boolean> {
  const key = unhex(publicKey);
  if (key === null) return false;
  if (algorithm === "ed25519") return isEd25519(digest, signature, key);
  const point = algorithm === "secp256k1" ? pointOf(key) : null;
  return point !== null && recovered(digest, signature).includes(point);
}

/**
 * Find the first key that made a signature; null if none did.
 *
 * A secp256k1 key is recovered once for all candidates, or checked directly if it has signed before, which is faster.
 */
export async function findSigner(
  digest: Uint8Array,
  signature: Uint8Array,
  signers: readonly Signer[],
): Promise<Signer | null> {
  let points: string[] | undefined;
  const isSigner = async ({ publicKey, algorithm }: Signer): Promise<boolean> => {
    const key = unhex(publicKey);
    if (key === null) return false;
    if (algorithm === "ed25519") return isEd25519(digest, signature, key);
    if (RECENT.has(publicKey)) return (await import("./prepared.js")).isPreparedSignature(digest, signature, publicKey);
    const point = pointOf(key);
    points ??= recovered(digest, signature);
    if (point === null || !points.includes(point)) return false;
    if (RECENT.size >= MOST_KEYS) RECENT.clear();
    RECENT.add(publicKey);
    return true;
  };
  for (const signer of signers) if (await isSigner(signer)) return signer;
  return null;
}

/** Check an ed25519 signature. Its curve is loaded with the first one, because most agents sign with secp256k1. */
export async function isEd25519(digest: Uint8Array, signature: Uint8Array, key: Uint8Array): Promise<boolean> {
  const { verified } = await import("./ed25519.js");
  return verified(digest, signature, key);
}

/** Return the parities of `R` that a signature allows: that of `v`, both if there is no `v`, none if `v` is unknown. */
export function paritiesOf(signature: Uint8Array): number[] {
  const v = signature.length === 65 ? V[signature[64] ?? 255] : undefined;
  return signature.length === 64 ? [0, 1] : v === undefined ? [] : [v];
}

/** Recover the keys that may have made a secp256k1 signature, as points: one, or two without `v`. */
export function recovered(digest: Uint8Array, signature: Uint8Array): string[] {
  const points = [];
  for (const parity of paritiesOf(signature)) {
    try {
      const read = secp256k1.Signature.fromCompact(signature.subarray(0, 64)).addRecoveryBit(parity);
      if (!read.hasHighS()) points.push(hex(read.recoverPublicKey(digest).toRawBytes(false).subarray(1)));
    } catch {
      // no key makes this signature
    }
  }
  return points;
}

/** Return the point of a secp256k1 key, compressed or not, in hexadecimal digits without a prefix. */
export function pointOf(key: Uint8Array): string | null {
  if (key.length === 65 && key[0] === 4) return hex(key.subarray(1)); // as listed: it may be no point of the curve
  if (key.length !== 33) return null;
  try {
    return hex(secp256k1.ProjectivePoint.fromHex(key).toRawBytes(false).subarray(1));
  } catch {
    return null;
  }
}
