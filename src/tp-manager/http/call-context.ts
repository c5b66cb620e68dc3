import type { Logger } from "../../shared/process/logger.ts";
import type { Clock } from "../../shared/time.ts";
import type { TerminalArbiter } from "../arbiter/terminal-arbiter.ts";
import type { AcknowledgedRows, AuditEntryRows, DayRows } from "../journal/operator-rows.ts";
import type { AfterSale } from "../orders/after-sale.ts";
import type { Listings } from "../orders/listings.ts";
import type { Orders, PaymentResult } from "../orders/orders.ts";
import type { SettlementRequest } from "../orders/settlement.ts";
import type { GatewayOperations } from "../supervisor/gateway-operations.ts";
import type { RefusedHandOffs } from "../supervisor/hand-off.ts";
import type { SupervisorLink } from "../supervisor/supervisor-link.ts";
import type { EventStreams } from "./events/event-streams.ts";
import type { Maintenance } from "./maintenance/maintenance.ts";
import type { HourWatch } from "./status/hour-watch.ts";
import type { Monitor } from "./status/monitor.ts";

/** The parts that the handlers of calls may use. */
export interface CallContext {
  readonly orders: Orders;
  readonly listings: Listings;
  readonly arbiter: TerminalArbiter;
  readonly afterSale: AfterSale;
  readonly settle: (request: SettlementRequest) => Promise<PaymentResult>;
  readonly monitor: Monitor;
  readonly supervisor: SupervisorLink;
  readonly refused: RefusedHandOffs;
  readonly gateway: GatewayOperations;
  readonly maintenance: Maintenance;
  readonly auditEntries: AuditEntryRows;
  readonly acknowledged: AcknowledgedRows;
  readonly days: DayRows;
  /** The hours of the journal, with what was counted since. */
  readonly hours: Pick<HourWatch, "hours">;
  readonly defaultCurrency: string;
  /** OPERATOR_LOGIN is set. */
  readonly hasOperator: boolean;
  readonly events: EventStreams;
  readonly clock: Clock;
  readonly log: Logger;
  readonly requestStop: (why: string) => void;
}
