import { AppError, type Charged } from "../../src/shared/catalog/errors.ts";
import type { PaymentStatus } from "../../src/tp-manager/attempts/phase-table.ts";
import { answerOf } from "../../src/tp-manager/orders/answer.ts";
import type { PaymentResult } from "../../src/tp-manager/orders/orders.ts";
import type { TestClock } from "../support/clocks/test-clock.ts";
import { DiskFailure } from "./disk.ts";
import type { Life } from "./life.ts";
import type { TpManager } from "./processes.ts";

/** One answer that the kiosk got about an order. */
export interface KioskAnswer {
  readonly order: string;
  readonly call: string;
  readonly askedAtMs: number;
  readonly atMs: number;
  readonly http: number;
  readonly status: PaymentStatus;
  readonly code: string | null;
  readonly charged: Charged;
  /** null when the answer is about the request and not about an attempt. */
  readonly transactionId: string | null;
  /** What the order costs, as requested in the attempt that the answer is about. */
  readonly amountMinor: number | null;
}

interface Asked {
  readonly order: string;
  readonly call: string;
  readonly askedAtMs: number;
  /** The process that was asked. */
  readonly life: Life;
  answered: boolean;
}

type Asking = Pick<TpManager, "life"> & {
  readonly orders: Pick<TpManager["orders"], "chargedOfOrder">;
};

/** The kiosk software: asks, and remembers every answer that it got. */
export class Kiosk {
  readonly answers: KioskAnswer[] = [];
  readonly asked: Asked[] = [];
  readonly #clock: TestClock;

  constructor(clock: TestClock) {
    this.#clock = clock;
  }

  /** Asks; the answer of a process that is gone, or after hanging up, is never heard. */
  ask(
    about: { order: string; call: string; patienceMs?: number | null },
    { life, orders }: Asking,
    work: () => Promise<PaymentResult | undefined>,
  ): void {
    const { order, call, patienceMs } = about;
    const askedAtMs = this.#clock.monotonicMs();
    const asked: Asked = { order, call, askedAtMs, life, answered: false };
    this.asked.push(asked);
    const hear = (
      answer: Partial<KioskAnswer> & Pick<KioskAnswer, "http" | "status" | "charged">,
    ): void => {
      asked.answered = true;
      const atMs = this.#clock.monotonicMs();
      const deaf = typeof patienceMs === "number" && atMs - askedAtMs > patienceMs;
      if (!life.alive || deaf) return;
      const none = { code: null, transactionId: null, amountMinor: null };
      this.answers.push({ order, call, askedAtMs, atMs, ...none, ...answer });
    };
    asAnswer(work).then(hear, (error: unknown) => {
      const { code, charged: ofRow } = error instanceof AppError ? error : internal;
      // As http/error-answers.ts has it.
      const charged = (order === "" ? undefined : orders.chargedOfOrder(order)) ?? ofRow;
      hear({ http: 0, status: "Failed", code, charged });
      // http/app.ts answers 500; only the disk may be the reason.
      if (code === "INTERNAL" && !(error instanceof DiskFailure)) throw error;
    });
  }
}

const internal = { code: "INTERNAL", charged: "unknown" } as const;

async function asAnswer(work: () => Promise<PaymentResult | undefined>) {
  const result = await work();
  if (!result) return { http: 200, status: "Unknown", charged: "unknown" } as const;
  const { attempt, delivery } = result;
  const { http, body } = answerOf(attempt, delivery);
  const { status, error } = body;
  const charged = error?.charged ?? (status === "Success" ? "yes" : chargedOfStatus(status));
  const { transactionId, request, state } = attempt;
  const amountMinor =
    state.phase === "charged" ? (state.report.amountMinor ?? request.amountMinor) : null;
  return { http, status, code: error?.code ?? null, charged, transactionId, amountMinor };
}

function chargedOfStatus(status: PaymentStatus): Charged {
  return status === "Reversed" ? "no" : "unknown";
}
