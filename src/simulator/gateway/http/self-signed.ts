import { certified } from "../../certificates.ts";
import type { Tls } from "./app.ts";

const DAY_MS = 24 * 3_600_000;
const VALID_MS = 397 * DAY_MS;

/**
 * Makes a key and a certificate for host names and addresses that has signed itself, valid from a
 * day before `nowMs`. Clients can be tried over https with the certificate as their CA file.
 */
export function selfSignedTls(hosts: readonly string[], nowMs: number): Tls {
  const { key, cert } = certified({
    commonName: "gateway sandbox",
    hosts,
    isAuthority: true,
    fromMs: nowMs - DAY_MS,
    toMs: nowMs + VALID_MS,
  });
  return { key, cert };
}
