/** Checks of secp256k1 signatures by keys that have signed before. Loaded with the second signature of a key. */
import { invert, mod } from "@noble/curves/abstract/modular";
import { secp256k1 } from "@noble/curves/secp256k1";
import { bigintOf } from "./bytes.js";
import { paritiesOf } from "./keys.js";

/** The window for a key's precomputed multiples: computing them takes 4 ms, and speeds up a check from 6 ms to 1. */
const WINDOW = 4;
const MOST_KEYS = 64;

type SecpPoint = typeof secp256k1.ProjectivePoint.BASE;

const PREPARED = new Map<string, SecpPoint>();

/** Check a signature by a valid key in hexadecimal digits, whose multiples are computed once. */
export function isPreparedSignature(digest: Uint8Array, signature: Uint8Array, publicKey: string): boolean {
  let key = PREPARED.get(publicKey);
  if (key === undefined) {
    key = secp256k1.utils.precompute(WINDOW, secp256k1.ProjectivePoint.fromHex(publicKey));
    if (PREPARED.size >= MOST_KEYS) PREPARED.clear();
    PREPARED.set(publicKey, key);
  }
  return isSecp256k1(digest, signature, key);
}

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
