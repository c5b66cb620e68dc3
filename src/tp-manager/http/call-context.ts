import type { Logger } from "../../shared/logger.ts";
import type { Attempt, AttemptEvent, PaymentRequest } from "../attempts/payment.ts";
import type { ListedAttempt, ListPage, SettledStray } from "../attempts/payment-store.ts";
import type { Upkeep } from "../desk/upkeep.ts";
import type { AfterSale } from "../orders/after-sale.ts";
import type { PaymentResult } from "../orders/payment-service.ts";
import type { settleByOperator } from "../orders/settlement.ts";
import type { GatewayDesk } from "../supervisor/gateway-desk.ts";
import type { SupervisorLink } from "../supervisor/supervisor-link.ts";
import type { Terminal, TerminalIdentity } from "../terminal/terminal.ts";
import type { EventStreams } from "./events/event-streams.ts";
import type { Page } from "./page/operator-page.ts";
import type { Monitor } from "./status/monitor.ts";

/** Payments and what the journal knows of them, as far as calls need it. */
export interface OrdersPort {
  pay(request: PaymentRequest): Promise<PaymentResult>;
  /** Throws ORDER_NOT_FOUND. */
  lookUp(
    orderId: string,
  ): Promise<PaymentResult & { readonly attempts: ReadonlyArray<AttemptWithEvents> }>;
  /** The newest attempt of an order. Throws ORDER_NOT_FOUND. */
  latest(orderId: string): Attempt;
  cancel(): Promise<void>;
  /** docs/design.md 3.11: the answer about an order with a generated id was written completely. */
  answerRead(orderId: string): void;
  list(page: ListPage): ListedAttempt[];
  listArchived(page: ListPage): ListedAttempt[];
  unexpectedReports(limit: number): SettledStray[];
  acceptTerminal(): TerminalIdentity;
  readonly turn: {
    readonly current: { readonly what: string; readonly orderId?: string | undefined } | undefined;
    close(): void;
  };
}

export type AttemptWithEvents = Attempt & { readonly events: readonly AttemptEvent[] };

/** What the handlers of calls may use. */
export interface CallContext {
  readonly payments: OrdersPort;
  readonly afterSale: Pick<AfterSale, "deliver" | "reverse">;
  readonly upkeep: Pick<Upkeep, "reset" | "telecollect">;
  readonly settle: (word: Parameters<typeof settleByOperator>[2]) => Promise<PaymentResult>;
  readonly terminal: Pick<Terminal, "state" | "check">;
  readonly monitor: Pick<Monitor, "health" | "metrics">;
  readonly supervisor: Pick<SupervisorLink, "ask">;
  readonly gateway: Pick<GatewayDesk, "ask" | "publicIdOf" | "reconcile" | "settle">;
  readonly defaultCurrency: string;
  /** OPERATOR_LOGIN is set. */
  readonly hasOperator: boolean;
  readonly events: Pick<EventStreams, "open">;
  readonly page: Page;
  readonly log: Logger;
  readonly requestStop: (why: string) => void;
}
