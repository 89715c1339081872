/**
 * Checks of signatures made with agents' keys.
 *
 * A secp256k1 signature is `r`, `s` and `v` over the hash's 32 bytes, without any prefix; `v` is 0 or 1 and `s`
 * is low. An ed25519 signature is 64 bytes over the same 32 bytes.
 */
import { invert, mod } from "@noble/curves/abstract/modular";
import { secp256k1 } from "@noble/curves/secp256k1";
import { keccak_256 } from "@noble/hashes/sha3";
import { bigintOf, hex, isEqual, unbase58, unhex } from "./bytes.js";
import { checksummed, isEvm } from "./identifiers.js";

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

/** The window for a key's precomputed multiples: computing them takes 4 ms, and speeds up a check from 6 ms to 1. */
const WINDOW = 4;
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

/** The keys that have signed before, with precomputed multiples from the second signature on. */
class RecentKeys<Point> {
  private readonly points = new Map<string, Point | null>();

  constructor(private readonly prepared: (publicKey: string) => Point) {}

  get(publicKey: string): Point | null {
    return this.points.get(publicKey) ?? null;
  }

  add(publicKey: string): void {
    if (this.get(publicKey) !== null) return;
    this.points.set(publicKey, this.points.has(publicKey) ? this.prepared(publicKey) : null);
    for (const oldest of this.points.keys()) {
      if (this.points.size <= MOST_KEYS) break;
      this.points.delete(oldest);
    }
  }
}

let recent: RecentKeys<SecpPoint> | undefined;

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
  recent ??= new RecentKeys((key) => secp256k1.utils.precompute(WINDOW, secp256k1.ProjectivePoint.fromHex(key)));
  const keys = recent;
  let points: string[] | undefined;
  const isSigner = ({ publicKey, algorithm }: Signer): boolean | Promise<boolean> => {
    const key = unhex(publicKey);
    if (key === null) return false;
    if (algorithm === "ed25519") return isEd25519(digest, signature, key);
    const prepared = keys.get(publicKey);
    if (prepared !== null) return isSecp256k1(digest, signature, prepared);
    const point = pointOf(key);
    points ??= recovered(digest, signature);
    if (point === null || !points.includes(point)) return false;
    keys.add(publicKey);
    return true;
  };
  for (const signer of signers) if (await isSigner(signer)) return signer;
  return null;
}

/** Compare a public key with a listed one. A secp256k1 key may be compressed on either side. */
export function isKey(publicKey: Uint8Array, signer: Signer): boolean {
  const listed = unhex(signer.publicKey);
  if (listed === null) return false;
  if (signer.algorithm === "ed25519") return isEqual(publicKey, listed);
  const point = pointOf(publicKey);
  return point !== null && point === pointOf(listed);
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

/** Check an ed25519 signature. Its curve is loaded with the first one, because most agents sign with secp256k1. */
async function isEd25519(digest: Uint8Array, signature: Uint8Array, key: Uint8Array): Promise<boolean> {
  const { verified } = await import("./ed25519.js");
  return verified(digest, signature, key);
}

type SecpPoint = typeof secp256k1.ProjectivePoint.BASE;

/** Return whether the key is among those that `recovered` would return. */
function isSecp256k1(digest: Uint8Array, signature: Uint8Array, key: SecpPoint): boolean {
  const parities = paritiesOf(signature);
  if (!parities.length) return false;
  const { n } = secp256k1.CURVE;
  const [r, s] = [bigintOf(signature.subarray(0, 32)), bigintOf(signature.subarray(32, 64))];
  if (r === 0n || r >= n || s === 0n || s > n >> 1n) return false;
  const inverse = invert(s, n);
  const [ofBase, ofKey] = [mod(bigintOf(digest) * inverse, n), mod(r * inverse, n)];
  const { BASE, ZERO } = secp256k1.ProjectivePoint;
  // Not multiplyUnsafe: with prepared multiples, that of noble 1.9 reads the lower half of a scalar alone.
  const point = (ofBase === 0n ? ZERO : BASE.multiply(ofBase)).add(key.multiply(ofKey));
  if (point.equals(ZERO)) return false;
  const { x, y } = point.toAffine();
  return x === r && parities.includes(Number(y & 1n));
}

/** Return the parities of `R` that a signature allows: that of `v`, both if there is no `v`, none if `v` is unknown. */
function paritiesOf(signature: Uint8Array): number[] {
  const v = signature.length === 65 ? V[signature[64] ?? 255] : undefined;
  return signature.length === 64 ? [0, 1] : v === undefined ? [] : [v];
}

/** Recover the keys that may have made a secp256k1 signature, as points: one, or two without `v`. */
function recovered(digest: Uint8Array, signature: Uint8Array): string[] {
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
function pointOf(key: Uint8Array): string | null {
  if (key.length === 65 && key[0] === 4) return hex(key.subarray(1)); // as listed: it may be no point of the curve
  if (key.length !== 33) return null;
  try {
    return hex(secp256k1.ProjectivePoint.fromHex(key).toRawBytes(false).subarray(1));
  } catch {
    return null;
  }
}
