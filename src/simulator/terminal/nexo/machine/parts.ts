import { createSecureContext, type SecureContext } from "node:tls";
import type { Clock } from "../../../../shared/time.ts";
import { certified } from "../../../certificates.ts";
import type { FaultArguments } from "../../faults/fault-kinds.ts";
import { TerminalParts } from "../../terminal-parts.ts";
import type { FaultName } from "../faults.ts";
import type { CertificateKind, NexoOptions } from "../options.ts";

export class NexoParts extends TerminalParts<NexoOptions> {
  fault(name: FaultName): FaultArguments | undefined {
    return this.faults.take(name);
  }

  get poiId(): string {
    const { name, serialNumber } = this.device;
    return `${name}-${serialNumber}`;
  }
}

const DAY_MS = 24 * 3_600_000;
const YEAR_MS = 365 * DAY_MS;

/** The root of the simulated maker, and the certificate of a terminal with a certain name. */
export function certificates(
  kind: CertificateKind,
  environment: "test" | "live",
  clock: Clock,
): { readonly root: string; readonly contextOf: (poiId: string) => SecureContext } {
  const nowMs = clock.now();
  const valid = { fromMs: nowMs - DAY_MS, toMs: nowMs + YEAR_MS };
  const other = environment === "test" ? "live" : "test";
  const nameOf = (poiId: string): string => {
    if (kind === "other-name") return "wrong.example.com";
    const name = kind === "legacy" ? "legacy-terminal-certificate" : poiId;
    return `${name}.${kind === "other-environment" ? other : environment}.terminal.adyen.com`;
  };
  const commonName = "Simulated Terminal Fleet Root";
  const root = certified({ commonName, isAuthority: true, ...valid });
  const past = { fromMs: nowMs - 2 * DAY_MS, toMs: nowMs - DAY_MS };
  const made = new Map<string, SecureContext>();
  const contextOf = (poiId: string): SecureContext => {
    const during = kind === "expired" ? past : valid;
    const { key, cert } = certified({ commonName: nameOf(poiId), ...during }, root);
    return createSecureContext({ key, cert, minVersion: "TLSv1.2" });
  };
  return {
    root: root.cert,
    contextOf: (poiId) => {
      const known = made.get(poiId) ?? contextOf(poiId);
      made.set(poiId, known);
      return known;
    },
  };
}
