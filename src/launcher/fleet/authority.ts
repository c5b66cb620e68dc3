import {
  createPrivateKey,
  generateKeyPairSync,
  pbkdf2Sync,
  randomBytes,
  X509Certificate,
} from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { isIP } from "node:net";
import { join } from "node:path";
import { type Issuer, signedCertificate } from "../../shared/certificate.ts";

const DAY_MS = 86_400_000;
const YEAR_MS = 365 * DAY_MS;
/** How long certificates are valid: a kiosk warns of its own end, and nothing of a broker's. */
const validMs = { authority: 30 * YEAR_MS, server: 15 * YEAR_MS, client: 2 * YEAR_MS };
/** How long before its end a certificate is replaced, earlier than a kiosk warns of the end. */
export const REPLACED_MS = 90 * DAY_MS;
/** The iterations of mosquitto_passwd: the passwords are random, so that few are enough. */
const ITERATIONS = 101;

/** The fleet's authority, which signs the certificates of its broker and of its kiosks. */
export interface Authority extends Issuer {
  readonly certificate: string;
}

/** Writes a file that only its owner can read. */
export function writeOwn(path: string, text: string): void {
  rmSync(path, { force: true });
  writeFileSync(path, text, { mode: 0o600, flag: "wx" });
}

/** Returns the authority whose files are in a folder. */
export function authorityIn(folder: string): Authority {
  const certificate = readFileSync(join(folder, "ca.pem"), "utf8");
  const name = new X509Certificate(certificate).subject.replace("CN=", "");
  return { name, key: createPrivateKey(readFileSync(join(folder, "ca.key"))), certificate };
}

/** Makes a key and its certificate; without `by` the certificate signs itself. */
export function issue(purpose: keyof typeof validMs, name: string, nowMs: number, by?: Issuer) {
  const { privateKey: key, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const endsMs = nowMs + validMs[purpose];
  const hosts = purpose === "server" ? [name] : [];
  // The clock of a kiosk may be some hours late.
  const subject = { name, publicKey, purpose, hosts, fromMs: nowMs - DAY_MS, untilMs: endsMs };
  const pem = key.export({ type: "pkcs8", format: "pem" }).toString();
  return { ...signedCertificate(subject, by ?? { name, key }), name, key, pem, endsMs };
}

/** Whether a broker's certificate of this authority is valid for a host, and for a while. */
export function isServerFor(pem: string, host: string, authority: Authority, nowMs: number) {
  const one = new X509Certificate(pem);
  const named = isIP(host) === 0 ? one.checkHost(host) : one.checkIP(host);
  const isSigned = one.verify(new X509Certificate(authority.certificate).publicKey);
  return named !== undefined && isSigned && Number(one.validToDate) > nowMs + REPLACED_MS;
}

/** Returns a new random password, and its hash as mosquitto_passwd writes it. */
export function newLogin(): { readonly password: string; readonly hash: string } {
  const password = randomBytes(24).toString("base64url");
  const salt = randomBytes(12);
  const hash = pbkdf2Sync(password, salt, ITERATIONS, 64, "sha512").toString("base64");
  return { password, hash: `$7$${ITERATIONS}$${salt.toString("base64")}$${hash}` };
}
