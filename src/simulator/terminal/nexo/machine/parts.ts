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

/** The root of the simulated maker, and the certificate that the terminal shows. */
export function certificates(
  poiId: string,
  kind: CertificateKind,
  environment: "test" | "live",
  clock: Clock,
): { readonly root: string; readonly context: SecureContext } {
  const nowMs = clock.now();
  const valid = { fromMs: nowMs - DAY_MS, toMs: nowMs + YEAR_MS };
  const other = environment === "test" ? "live" : "test";
  const names: Readonly<Record<CertificateKind, string>> = {
    own: `${poiId}.${environment}.terminal.adyen.com`,
    expired: `${poiId}.${environment}.terminal.adyen.com`,
    legacy: `legacy-terminal-certificate.${environment}.terminal.adyen.com`,
    "other-name": "wrong.example.com",
    "other-environment": `${poiId}.${other}.terminal.adyen.com`,
  };
  const commonName = "Simulated Terminal Fleet Root";
  const root = certified({ commonName, isAuthority: true, ...valid });
  const past = { fromMs: nowMs - 2 * DAY_MS, toMs: nowMs - DAY_MS };
  const own = certified({ commonName: names[kind], ...(kind === "expired" ? past : valid) }, root);
  return {
    root: root.cert,
    context: createSecureContext({ key: own.key, cert: own.cert, minVersion: "TLSv1.2" }),
  };
}
