import type { AnyCall } from "../call.ts";
import { dayCalls, reconciliationCalls } from "./day-calls.ts";
import { gatewayCalls } from "./gateway-calls.ts";
import { acknowledgeCalls, journalCalls } from "./journal-calls.ts";
import { maintenanceCalls } from "./maintenance-calls.ts";
import { outboxCalls } from "./outbox-calls.ts";
import { paymentCalls } from "./payment-calls.ts";
import { programCalls } from "./program-calls.ts";
import { terminalCalls } from "./terminal-calls.ts";
import { timelineCalls } from "./timeline-calls.ts";

/** Every call of the local API, in the order of the table in docs/reference.md. */
export const calls: readonly AnyCall[] = [
  ...paymentCalls,
  ...journalCalls,
  ...timelineCalls,
  ...dayCalls,
  ...reconciliationCalls,
  ...acknowledgeCalls,
  ...gatewayCalls,
  ...outboxCalls,
  ...terminalCalls,
  ...programCalls,
  ...maintenanceCalls,
];
