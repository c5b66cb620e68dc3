import { X509Certificate } from "node:crypto";
import type { Config } from "../shared/config/config.ts";
import { certificatesIn } from "../shared/config/server-trust.ts";
import type { SupervisorAnswer } from "../shared/ipc/contract.ts";
import { type Clock, isoTime } from "../shared/time.ts";

/** How long before its expiry a certificate is reported as a condition. */
const WARN_MS = 30 * 86_400_000;

/**
 * Returns a function that reports the certificate file that expires first, if it expires within
 * WARN_MS (docs/fleet.md 2.2). The files are read once, so a new file counts from the next start.
 */
export function certificateEnds(
  { FLEET_URL: fleet, FLEET_CERT_FILE: own, ...trusted }: Partial<Config>,
  clock: Clock,
): () => SupervisorAnswer<"status">["certificates"] {
  const ends = [
    // A chain of certificates is invalid as soon as the first of its certificates expires.
    ...endsOf("FLEET_CERT_FILE", fleet && own, Math.min),
    // A file of authorities expires with its last certificate: the others may have been replaced.
    ...endsOf("FLEET_CA_FILE", fleet && trusted.FLEET_CA_FILE, Math.max),
    ...endsOf("GATEWAY_CA_FILE", trusted.GATEWAY_CA_FILE, Math.max),
    ...endsOf("PROXY_CA_FILE", trusted.PROXY_CA_FILE, Math.max),
  ];
  const first = ends.sort((a, b) => a.endMs - b.endMs).at(0);
  return () => {
    if (!first || first.endMs - clock.now() > WARN_MS) return null;
    const verb = first.endMs > clock.now() ? "ends" : "ended";
    const day = isoTime(first.endMs).slice(0, 10);
    const reason = `the certificate of ${first.name} ${verb} on ${day}`;
    return { reason, sinceMs: first.endMs - WARN_MS };
  };
}

function endsOf(
  name: keyof Config,
  path: string | undefined,
  which: (...ends: number[]) => number,
): { readonly name: string; readonly endMs: number }[] {
  const ends = certificatesIn(name, path).map((one) => new X509Certificate(one).validToDate);
  return ends.length === 0 ? [] : [{ name, endMs: which(...ends.map(Number)) }];
}
