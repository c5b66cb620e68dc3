import { X509Certificate } from "node:crypto";
import type { Config } from "../shared/config/config.ts";
import { certificatesIn } from "../shared/config/server-trust.ts";
import type { SupervisorAnswer } from "../shared/ipc/contract.ts";
import { type Clock, isoTime } from "../shared/time.ts";
import type { FleetFiles } from "./fleet-files.ts";

/** How long before its expiry a certificate is reported as a condition. */
const WARN_MS = 30 * 86_400_000;

/**
 * Returns a function that reports the certificate file that expires first, if it expires within
 * WARN_MS (docs/fleet.md 2.2). The files of the fleet count as they are used, all others as they
 * were at the start.
 */
export function certificateEnds(
  { GATEWAY_CA_FILE: gateway, PROXY_CA_FILE: proxy }: Partial<Config>,
  fleet: FleetFiles | undefined,
  clock: Clock,
): () => SupervisorAnswer<"status">["certificates"] {
  // A file of authorities expires with its last certificate: the others may have been replaced.
  const others = [
    ...endsOf("GATEWAY_CA_FILE", certificatesIn("GATEWAY_CA_FILE", gateway), Math.max),
    ...endsOf("PROXY_CA_FILE", certificatesIn("PROXY_CA_FILE", proxy), Math.max),
  ];
  let read: object | undefined;
  let first = firstOf(others);
  return () => {
    const current = fleet?.current;
    if (current && current !== read) {
      read = current;
      const { own, authorities } = current;
      // A chain of certificates is invalid as soon as the first of its certificates expires.
      const ofFleet = endsOf("FLEET_CERT_FILE", own, Math.min);
      first = firstOf([...ofFleet, ...endsOf("FLEET_CA_FILE", authorities, Math.max), ...others]);
    }
    if (!first || first.endMs - clock.now() > WARN_MS) return null;
    const verb = first.endMs > clock.now() ? "ends" : "ended";
    const day = isoTime(first.endMs).slice(0, 10);
    const reason = `the certificate of ${first.name} ${verb} on ${day}`;
    return { reason, sinceMs: first.endMs - WARN_MS };
  };
}

const firstOf = (ends: ReturnType<typeof endsOf>) =>
  ends.toSorted((a, b) => a.endMs - b.endMs).at(0);

function endsOf(
  name: string,
  certificates: readonly string[],
  which: (...ends: number[]) => number,
): { readonly name: string; readonly endMs: number }[] {
  const ends = certificates.map((one) => new X509Certificate(one).validToDate);
  return ends.length === 0 ? [] : [{ name, endMs: which(...ends.map(Number)) }];
}
