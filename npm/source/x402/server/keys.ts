/** Keys that sign answers. A key never reveals its secret, which is held in a closure. */
import { ed25519 } from "@noble/curves/ed25519";
import { secp256k1 } from "@noble/curves/secp256k1";
import { InvalidArgumentError } from "../errors.js";
import { bigintOf, bytesOf, hex, joined, unhex, utf8 } from "../proof/bytes.js";
import { isSignatureOf } from "../proof/keys.js";

/** A key that signs answers. Its public key must be in the agent's registration file. */
export interface SigningKey {
  readonly algorithm: "secp256k1" | "ed25519";
  /** The public key in hexadecimal digits, without 0x. */
  readonly publicKey: string;
  /** Sign a 32-byte hash. */
  sign(digest: Uint8Array): Uint8Array | Promise<Uint8Array>;
}

const PROBE = utf8("bilateral: does this key sign?..");

/**
 * Return a secp256k1 key.
 *
 * @param secret The private key, 32 bytes or 64 hexadecimal digits.
 */
export function secp256k1Key(secret: Uint8Array | string): SigningKey {
  const bytes = secretOf(secret);
  if (!secp256k1.utils.isValidPrivateKey(bytes)) {
    throw new InvalidArgumentError("the secret is not a secp256k1 key");
  }
  const sign = (digest: Uint8Array): Uint8Array => {
    const signature = secp256k1.sign(digest, bytes, { lowS: true });
    return joined(signature.toCompactRawBytes(), Uint8Array.of(signature.recovery));
  };
  return { algorithm: "secp256k1", publicKey: hex(secp256k1.getPublicKey(bytes, false)), sign };
}

/**
 * Return an ed25519 key.
 *
 * @param seed The seed, 32 bytes or 64 hexadecimal digits.
 */
export function ed25519Key(seed: Uint8Array | string): SigningKey {
  const bytes = secretOf(seed);
  return {
    algorithm: "ed25519",
    publicKey: hex(ed25519.getPublicKey(bytes)),
    sign: (digest) => ed25519.sign(digest, bytes),
  };
}

/**
 * Read a key from an environment variable: 64 hexadecimal digits, with or without 0x.
 *
 * @param name The variable.
 * @param algorithm The algorithm of the key.
 */
export function keyFromEnv(name: string, algorithm: SigningKey["algorithm"] = "secp256k1"): SigningKey {
  const { process } = globalThis as { process?: { env: Record<string, string | undefined> } };
  const value = process?.env[name];
  if (!value) throw new InvalidArgumentError(`the environment variable ${name} is not set`);
  return algorithm === "ed25519" ? ed25519Key(value.trim()) : secp256k1Key(value.trim());
}

/** A key held by another program, such as a key management service or a viem account. */
export interface RemoteKeyOptions {
  /** The public key in hexadecimal digits; a viem account provides it as `publicKey`. */
  readonly publicKey: string;
  readonly algorithm?: SigningKey["algorithm"];
  /** Sign a 32-byte hash. A secp256k1 signature may lack `v` or have a high `s`. */
  sign(digest: Uint8Array): Promise<Uint8Array>;
}

/** Return a key held by another program. Its signatures are checked and converted to the extension's form. */
export function remoteKey(options: RemoteKeyOptions): SigningKey {
  const algorithm = options.algorithm ?? "secp256k1";
  const publicKey = options.publicKey.replace(/^0x/, "");
  return {
    algorithm,
    publicKey,
    async sign(digest) {
      const signature = await options.sign(digest);
      const candidates = algorithm === "ed25519" ? [signature] : lowForms(signature);
      for (const candidate of candidates) {
        if (await isSignatureOf(digest, candidate, publicKey, algorithm)) return candidate;
      }
      throw new InvalidArgumentError("the remote key returned a signature that does not match its public key");
    },
  };
}

/**
 * Return the key of a local viem account.
 *
 * @param account The account, for example from `privateKeyToAccount`.
 */
export function accountKey(account: {
  readonly publicKey: string;
  sign?(parameters: { hash: `0x${string}` }): Promise<string>;
}): SigningKey {
  return remoteKey({
    publicKey: account.publicKey,
    async sign(digest) {
      const signature = await account.sign?.({ hash: `0x${hex(digest)}` });
      return unhex((signature ?? "").replace(/^0x/, "")) ?? new Uint8Array();
    },
  });
}

/** Sign a test message with a key, and check the signature. */
export async function checkKey(key: SigningKey): Promise<void> {
  const signature = await key.sign(PROBE);
  if (!(await isSignatureOf(PROBE, signature, key.publicKey, key.algorithm))) {
    throw new InvalidArgumentError("the signature does not match the key's public key");
  }
}

function lowForms(signature: Uint8Array): Uint8Array[] {
  const order = secp256k1.CURVE.n;
  const s = bigintOf(signature.subarray(32, 64));
  if (signature.length < 64 || s <= 0n || s >= order) return [];
  const low = joined(signature.subarray(0, 32), bytesOf(s < order - s ? s : order - s, 32));
  return [0, 1].map((v) => joined(low, Uint8Array.of(v)));
}

function secretOf(secret: Uint8Array | string): Uint8Array {
  const bytes = typeof secret === "string" ? unhex(secret.replace(/^0x/, "")) : secret.slice();
  if (bytes?.length !== 32) throw new InvalidArgumentError("a key must be 32 bytes, or 64 hexadecimal digits");
  return bytes;
}
