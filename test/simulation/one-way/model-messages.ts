import {
  decodeFixedRequest,
  encodeFixedReply,
  encodeTagged,
  readTagged,
  tagValue,
} from "../../../src/concert/index.ts";
import { caisseApMessages } from "../../../src/tp-manager/terminal/caisse-ap/caisse-ap-messages.ts";
import { concertMessages } from "../../../src/tp-manager/terminal/concert/concert-messages.ts";
import type { Messages } from "../../../src/tp-manager/terminal/one-way/dialogue.ts";
import type { OneWayKind } from "./one-way-kinds.ts";

/** What a request asks for. */
export interface Asked {
  readonly amountMinor: number;
  readonly currency: string;
  /** Empty: none was given. */
  readonly reference: string;
}

export interface Answer extends Asked {
  readonly says: "approved" | "declined" | "later" | "nothing clear";
}

/** The driver's own messages. */
export function messagesOf({ protocol }: OneWayKind): Messages {
  if (protocol === "concert") {
    return concertMessages({ variant: "e-plus", register: "01", report: false });
  }
  const identifier = "012345678901";
  return caisseApMessages({
    version: "0300",
    identifier,
    register: "01",
    reference: "CF",
    receipt: false,
  });
}

/** A request as the terminal reads it. */
export function readRequest({ protocol }: OneWayKind, request: Uint8Array): Asked {
  if (protocol === "concert") {
    const { amountMinor, currency, private: own } = decodeFixedRequest(request);
    return { amountMinor, currency, reference: own.trim() };
  }
  const { tags } = readTagged(request);
  const value = (tag: string): string => tagValue(tags, tag) ?? "";
  return { amountMinor: Number(value("CB")), currency: value("CE"), reference: value("CF") };
}

const statuses = { approved: "0", declined: "7", later: "9", "nothing clear": "5" } as const;
const states = {
  approved: [["AE", "10"]],
  declined: [
    ["AE", "01"],
    ["AF", "04"],
  ],
  later: [["AE", "11"]],
  "nothing clear": [
    ["AE", "01"],
    ["AF", "00"],
  ],
} as const;

/** A reply as the terminal writes it. */
export function writeReply(
  { protocol, echoes }: OneWayKind,
  { amountMinor, currency, reference, says }: Answer,
): Uint8Array {
  const named = echoes ? reference : "";
  if (protocol === "concert") {
    const head = { posNumber: "01", status: statuses[says], paymentMode: "1" };
    const money = { amountMinor, currency };
    return encodeFixedReply({ ...head, ...money, report: null, private: named, ticket: null });
  }
  const own = named === "" ? [] : ([["CF", named]] as const);
  return encodeTagged([
    ["CZ", "0300"],
    ["CA", "01"],
    ["CB", String(amountMinor).padStart(2, "0")],
    ["CD", "0"],
    ["CE", currency],
    ...own,
    ...states[says],
  ]);
}
