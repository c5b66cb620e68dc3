import type { AnyCall } from "../call.ts";
import { careCalls } from "./care-calls.ts";
import { dayCalls } from "./day-calls.ts";
import { gatewayCalls } from "./gateway-calls.ts";
import { journalCalls } from "./journal-calls.ts";
import { outboxCalls } from "./outbox-calls.ts";
import { paymentCalls } from "./payment-calls.ts";
import { programCalls } from "./program-calls.ts";
import { reconciliationCalls } from "./reconciliation-calls.ts";
import { seenCalls } from "./seen-calls.ts";
import { storyCalls } from "./story-calls.ts";
import { terminalCalls } from "./terminal-calls.ts";

/** Every call of the local API, in the order of the reference's table. */
export const calls: readonly AnyCall[] = [
  ...paymentCalls,
  ...journalCalls,
  ...storyCalls,
  ...dayCalls,
  ...reconciliationCalls,
  ...seenCalls,
  ...gatewayCalls,
  ...outboxCalls,
  ...terminalCalls,
  ...programCalls,
  ...careCalls,
];
