import type { ZvtBehaviour } from "../options.ts";
import type { QuirkName } from "./quirks.ts";

/** A real terminal, as far as it is known what it does otherwise (docs/zvt.md 12.2 to 12.8). */
interface DeviceProfile {
  readonly name: string;
  readonly quirks: readonly QuirkName[];
  readonly behaviour?: Partial<ZvtBehaviour>;
}

/** Named as the driver's profiles where it has one. */
export const devices = {
  "card-complete": {
    name: "card complete, Ingenico iWL250 and Worldline Valina",
    quirks: [
      "latin1",
      "print-lines-only",
      "asks-three-times",
      "no-partial-issue",
      "five-digit-password",
      "no-pin-status",
      "private-tags",
      "diagnosis-needs-type",
      "totals-in-first-group",
      "log-off-be",
      "no-update",
    ],
  },
  hobex: {
    name: "hobex, Ingenico Desk/3500",
    quirks: ["print-blocks-only", "container-unasked", "long-trace", "no-partial-issue"],
  },
  "pax-a80": {
    name: "Global Payments, PAX A80",
    quirks: [
      "ignores-abort",
      "reverses-last-only",
      "empty-repeat-receipt",
      "wrong-amount-on-reversal",
      "blocks-in-latin2",
      "end-attribute-8f",
    ],
  },
  feig: {
    name: "Feig cVEND",
    quirks: [
      "print-first-in-reversal",
      "opaque-tags",
      "binary-serial",
      "t4-byte-zero",
      "no-texts",
      "no-end-mark",
    ],
  },
  ccv: {
    name: "CCV OPM-C60 and IM30",
    quirks: ["refuses-after-update"],
    behaviour: { vending: true },
  },
  ingenico: {
    name: "Ingenico Link, Move and i5310",
    quirks: ["statuses-a0", "silent-after-cancel", "zvt-off-after-update"],
  },
  clover: {
    name: "Clover Flex: wants the signature judged where 06 D0 is permitted",
    quirks: [],
    behaviour: { asks: ["signature"] },
  },
  "nexi-a960": { name: "Nexi A960", quirks: ["no-currency-field", "short-report"] },
} as const satisfies Record<string, DeviceProfile>;

export type DeviceName = keyof typeof devices;
export const deviceNames = Object.keys(devices) as DeviceName[];

/** The behaviour of a device, before other switches. */
export function behaviourOf(name: DeviceName): Partial<ZvtBehaviour> {
  const { quirks, behaviour }: DeviceProfile = devices[name];
  return { ...behaviour, quirks };
}
