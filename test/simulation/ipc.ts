import { sleep } from "../../src/shared/time.ts";
import { transactionSchema } from "../../src/shared/transaction.ts";
import type { SupervisorLink } from "../../src/tp-manager/supervisor/hand-off.ts";
import type { TestClock } from "../support/test-clock.ts";
import type { Life } from "./life.ts";
import type { IpcMode } from "./plan.ts";
import type { Supervisor } from "./processes.ts";

/** As in supervisor-link.ts. */
const STORE_LIMIT_MS = 5_000;
const ANSWER_MARGIN_MS = 500;

/** The local socket between the two processes. */
export class ModelIpc {
  readonly #clock: TestClock;
  readonly #supervisor: () => Supervisor | undefined;
  #mode: IpcMode | undefined;
  #untilMs = 0;

  constructor(clock: TestClock, supervisor: () => Supervisor | undefined) {
    this.#clock = clock;
    this.#supervisor = supervisor;
  }

  fail(mode: IpcMode, ms: number): void {
    this.#mode = mode;
    this.#untilMs = this.#clock.monotonicMs() + ms;
  }

  heal(): void {
    this.#untilMs = 0;
  }

  linkFor(life: Life): SupervisorLink {
    return {
      store: (given) => {
        const transaction = transactionSchema.parse(JSON.parse(JSON.stringify(given)));
        return this.#call(life, STORE_LIMIT_MS, async ({ handlers }) => {
          await handlers["store-transaction"]({ transaction });
        });
      },
      withdraw: (given) => {
        const transaction = transactionSchema.parse(JSON.parse(JSON.stringify(given)));
        return this.#call(life, STORE_LIMIT_MS, async ({ handlers }) => {
          const { outcome } = await handlers["withdraw-transaction"]({ transaction });
          return outcome;
        });
      },
      delivery: (transactionId, waitMs) =>
        this.#call(life, waitMs + ANSWER_MARGIN_MS, async ({ handlers }) => {
          const answer = await handlers["transaction-delivery"]({ transactionId, waitMs });
          return answer.known ? answer.state : null;
        }),
    };
  }

  #call<T>(life: Life, limitMs: number, work: (at: Supervisor) => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const fail = (why: string) => (): void => reject(new Error(why));
      life.clock.startTimer("ipc limit", limitMs, fail("no answer in time"));
      const answer = this.#served(life, work);
      answer.then(
        (value) => life.alive && resolve(value),
        (error: unknown) => life.alive && reject(error),
      );
    });
  }

  async #served<T>(life: Life, work: (at: Supervisor) => Promise<T>): Promise<T> {
    const failing = this.#clock.monotonicMs() < this.#untilMs ? this.#mode : undefined;
    await sleep(life.clock, "ipc", failing === "slow" ? 2 * STORE_LIMIT_MS : 2);
    const supervisor = this.#supervisor();
    if (!supervisor || failing === "down") throw new Error("nobody listens");
    const answer = await work(supervisor);
    if (!supervisor.life.alive || failing === "lost-answer") throw new Error("connection lost");
    return answer;
  }
}
