import { createSecureContext, type SecureContext } from "node:tls";
import type { Clock } from "../../../../shared/time.ts";
import { certified } from "../../../certificates.ts";
import type { FaultArguments } from "../../faults/fault-kinds.ts";
import { TerminalParts } from "../../terminal-parts.ts";
import type { FaultName } from "../faults.ts";
import { Notifier } from "../link/notifier.ts";
import { type CertificateKind, DAY_MS, type NexoOptions, YEAR_MS } from "../options.ts";

export class NexoParts extends TerminalParts<NexoOptions> {
  readonly notifier = new Notifier(this);

  fault(name: FaultName): FaultArguments | undefined {
    return this.faults.take(name);
  }

  get poiId(): string {
    const { name, serialNumber } = this.device;
    return `${name}-${serialNumber}`;
  }
}

/** Returns the certificate that a terminal with a certain name shows, signed by the root. */
export function certificates(
  root: ReturnType<typeof certified>,
  kind: CertificateKind,
  environment: "test" | "live",
  clock: Clock,
): (poiId: string) => SecureContext {
  const nowMs = clock.now();
  const valid = { fromMs: nowMs - DAY_MS, toMs: nowMs + YEAR_MS };
  const other = environment === "test" ? "live" : "test";
  const nameOf = (poiId: string): string => {
    if (kind === "other-name") return "wrong.example.com";
    const name = kind === "legacy" ? "legacy-terminal-certificate" : poiId;
    return `${name}.${kind === "other-environment" ? other : environment}.terminal.adyen.com`;
  };
  const past = { fromMs: nowMs - 2 * DAY_MS, toMs: nowMs - DAY_MS };
  const made = new Map<string, SecureContext>();
  const contextOf = (poiId: string): SecureContext => {
    const during = kind === "expired" ? past : valid;
    const { key, cert } = certified({ commonName: nameOf(poiId), ...during }, root);
    return createSecureContext({ key, cert, minVersion: "TLSv1.2" });
  };
  return (poiId) => {
    const known = made.get(poiId) ?? contextOf(poiId);
    made.set(poiId, known);
    return known;
  };
}
