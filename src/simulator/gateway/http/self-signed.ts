import { generateKeyPairSync } from "node:crypto";
import { signedCertificate } from "../../../shared/certificate.ts";
import type { Tls } from "./app.ts";

const DAY_MS = 24 * 3_600_000;
const VALID_MS = 397 * DAY_MS;

/**
 * Makes a key and a certificate for host names and addresses that it signs itself, valid from a day
 * before `nowMs`. Clients can be tried over https with the certificate as their CA file.
 */
export function selfSignedTls(hosts: readonly string[], nowMs: number): Tls {
  const { privateKey: key, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const name = "gateway sandbox";
  const times = { fromMs: nowMs - DAY_MS, untilMs: nowMs + VALID_MS };
  const { certificate } = signedCertificate(
    { name, publicKey, purpose: "authority", hosts, ...times },
    { name, key },
  );
  return { key: key.export({ type: "pkcs8", format: "pem" }).toString(), cert: certificate };
}
