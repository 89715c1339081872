/** Checks of ed25519 signatures. Loaded with the first such signature. */
import { ed25519 } from "@noble/curves/ed25519";
import { sha512 } from "@noble/hashes/sha2";
import { hex, isEqual, joined } from "./bytes.js";

/**
 * Check an ed25519 signature as libsodium does: without the cofactor, in canonical form, and with no small-order key.
 *
 * The check in noble multiplies by the cofactor even with `zip215: false`, so a key with a torsion component could make
 * signatures that some verifiers accept and others reject. The recomputed `R` is compared byte by byte instead.
 */
export function verified(digest: Uint8Array, signature: Uint8Array, key: Uint8Array): boolean {
  if (signature.length !== 64 || key.length !== 32) return false;
  const r = signature.subarray(0, 32);
  const s = littleEndian(signature.subarray(32));
  if (s >= ed25519.CURVE.n) return false;
  try {
    const Point = ed25519.ExtendedPoint;
    const a = Point.fromHex(key);
    if (a.isSmallOrder() || Point.fromHex(r).isSmallOrder()) return false;
    const k = littleEndian(sha512(joined(r, key, digest))) % ed25519.CURVE.n;
    const expected = multiplied(Point.BASE, s).subtract(multiplied(a, k));
    return isEqual(expected.toRawBytes(), r);
  } catch {
    return false; // a point that is not on the curve, or not in canonical form
  }
}

type Point = typeof ed25519.ExtendedPoint.BASE;

function multiplied(point: Point, scalar: bigint): Point {
  return scalar === 0n ? ed25519.ExtendedPoint.ZERO : point.multiplyUnsafe(scalar);
}

function littleEndian(content: Uint8Array): bigint {
  return BigInt(`0x${hex(content.slice().reverse())}`);
}
