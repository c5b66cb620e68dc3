import { X509Certificate } from "node:crypto";
import type { Config } from "../shared/config/config.ts";
import { certificatesIn } from "../shared/config/server-trust.ts";
import type { SupervisorAnswer } from "../shared/ipc/contract.ts";
import { type Clock, isoTime } from "../shared/time.ts";
import type { FleetFiles } from "./fleet-files.ts";

/** How long before its expiry a certificate is reported as a condition. */
const WARN_MS = 30 * 86_400_000;

type Ends = NonNullable<SupervisorAnswer<"status">["certificateFiles"]>;
export type CertificateEnds = ReturnType<typeof certificateEnds>;

/**
 * Returns a function that reports the certificate file that expires first, if it expires within
 * WARN_MS (docs/fleet.md 2.2). The files of the fleet count as they are used, all others as they
 * were at the start. The member `files` of the function returns when each file expires.
 */
export function certificateEnds(
  { GATEWAY_CA_FILE: gateway, PROXY_CA_FILE: proxy }: Partial<Config>,
  fleet: FleetFiles | undefined,
  clock: Clock,
) {
  // A file of authorities expires with its last certificate: the others may have been replaced.
  const others = [
    ...endsOf("GATEWAY_CA_FILE", certificatesIn("GATEWAY_CA_FILE", gateway), Math.max),
    ...endsOf("PROXY_CA_FILE", certificatesIn("PROXY_CA_FILE", proxy), Math.max),
  ];
  let read: object | undefined;
  let all = inOrder(others);
  const files = (): Ends => {
    const current = fleet?.current;
    if (current && current !== read) {
      read = current;
      const { own, authorities } = current;
      // A chain of certificates is invalid as soon as the first of its certificates expires.
      const ofFleet = endsOf("FLEET_CERT_FILE", own, Math.min);
      all = inOrder([...ofFleet, ...endsOf("FLEET_CA_FILE", authorities, Math.max), ...others]);
    }
    return all;
  };
  const soonest = (): SupervisorAnswer<"status">["certificates"] => {
    const [first] = files();
    const endMs = Date.parse(first?.ends ?? "");
    if (!first || endMs - clock.now() > WARN_MS) return null;
    const verb = endMs > clock.now() ? "ends" : "ended";
    const reason = `the certificate of ${first.setting} ${verb} on ${first.ends.slice(0, 10)}`;
    return { reason, sinceMs: endMs - WARN_MS };
  };
  return Object.assign(soonest, { files });
}

const inOrder = (ends: Ends): Ends => ends.toSorted((a, b) => a.ends.localeCompare(b.ends));

function endsOf(
  setting: Ends[number]["setting"],
  certificates: readonly string[],
  which: (...ends: number[]) => number,
): Ends {
  const ends = certificates.map((one) => new X509Certificate(one).validToDate);
  return ends.length === 0 ? [] : [{ setting, ends: isoTime(which(...ends.map(Number))) }];
}
