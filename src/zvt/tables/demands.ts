/** The maintenance demands that a terminal makes to its register (docs/zvt.md 6.1, 11.2, 11.5). */
import { findTags, type Message, tagValue } from "../index.ts";

export type Demand =
  | "initialisation"
  | "diagnosis"
  | "configuration-diagnosis"
  | "emv-diagnosis"
  | "clock"
  | "end-of-day";

/** The maintenance that each status code of the terminal demands (docs/zvt.md 11.5). */
const ofStatus: ReadonlyMap<number, Demand> = new Map([
  [0x51, "initialisation"],
  [0x62, "clock"],
  [0xb1, "end-of-day"],
  // C1: the merchant card is locked until 06 91 (set clock) or 06 70 (diagnosis).
  [0xc1, "clock"],
  [0xc2, "diagnosis"],
  [0xf0, "end-of-day"],
]);

/** The maintenance that tag 1F13 demands (docs/zvt.md 11.2), without the outdated value 03. */
const ofTag: ReadonlyMap<number, Demand> = new Map([
  [0x00, "diagnosis"],
  [0x01, "end-of-day"],
  [0x02, "configuration-diagnosis"],
  [0x04, "emv-diagnosis"],
]);

/** The bits of the status byte in the completion of a registration (docs/zvt.md 6.1). */
const INITIALISATION_NEEDED = 0x01;
const DIAGNOSIS_NEEDED = 0x02;
/** The value of tag 1F43 (inside tag E4) of a device that requires an initialisation. */
const DEVICE_NOT_INITIALISED = 0x01;

/**
 * Returns the demands in the completion of a status enquiry. The locks in tag 1F55 are ignored,
 * because the documents contradict each other about their meaning (docs/zvt.md 11.2).
 */
export function demandsOfStatus({ parts, tags }: Message): readonly Demand[] {
  const status = ofStatus.get(parts.terminalStatus ?? 0);
  const device = tagValue(tags, "device", "deviceState") === DEVICE_NOT_INITIALISED;
  return distinct([
    ...(status ? [status] : []),
    ...(device ? (["initialisation"] as const) : []),
    ...demandsOfTags(tags),
  ]);
}

export function demandsOfRegistration(statusByte: number, tags: Message["tags"]) {
  return distinct([
    ...((statusByte & INITIALISATION_NEEDED) !== 0 ? (["initialisation"] as const) : []),
    ...((statusByte & DIAGNOSIS_NEEDED) !== 0 ? (["diagnosis"] as const) : []),
    ...demandsOfTags(tags),
  ]);
}

function demandsOfTags(tags: Message["tags"]): readonly Demand[] {
  return findTags(tags, "askedFor").flatMap(({ value }) => {
    const demand = typeof value === "number" ? ofTag.get(value) : undefined;
    return demand ? [demand] : [];
  });
}

export function distinct(demands: readonly Demand[]): readonly Demand[] {
  return [...new Set(demands)];
}
