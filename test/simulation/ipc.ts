import { type IpcClient, IpcError } from "../../src/shared/ipc/client.ts";
import { type Handlers, supervisorMessages } from "../../src/shared/ipc/contract.ts";
import { MessageRefused } from "../../src/shared/ipc/server.ts";
import type { StoreExchange } from "../../src/shared/store/store-exchange.ts";
import { sleep } from "../../src/shared/time.ts";
import { SupervisorLink } from "../../src/tp-manager/supervisor/supervisor-link.ts";
import type { TestClock } from "../support/clocks/test-clock.ts";
import type { Life } from "./life.ts";
import type { IpcMode } from "./plan.ts";
import type { Supervisor } from "./processes.ts";

type Messages = typeof supervisorMessages;

const GATEWAY_TIMEOUT_MS = 30_000;
/** Longer than any message of a plan is waited for. */
const SLOW_MS = 10_000;

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

  /** As ipc/client.ts and ipc/server.ts have it, with the marks of the two databases. */
  linkFor(life: Life, stores: StoreExchange): SupervisorLink {
    const call: IpcClient<Messages>["call"] = async (name, request, limitMs) => {
      const received = JSON.parse(JSON.stringify(request));
      const marks = stores.outgoing();
      const { done, marks: answered } = await this.#call(life, limitMs, async (supervisor) => {
        const { handlers, stores: theirs } = supervisor;
        if (name === "store-transaction" && this.#failing === "refuses") {
          throw new MessageRefused("a supervisor that takes no transaction");
        }
        const { [name]: handler }: Handlers<Messages> = handlers;
        const standing = theirs.exchange.receive(marks);
        const done = await handler(supervisorMessages[name].request.parse(received) as never);
        return { done, marks: theirs.exchange.outgoing(standing) };
      });
      stores.receive(answered);
      return done;
    };
    return new SupervisorLink(call, GATEWAY_TIMEOUT_MS);
  }

  #call<T>(life: Life, limitMs: number, work: (at: Supervisor) => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const late = (): void => reject(new IpcError("no-answer", "no answer in time"));
      life.clock.startTimer("ipc limit", limitMs, late);
      const answer = this.#served(life, work);
      answer.then(
        (value) => life.alive && resolve(value),
        (error: unknown) => life.alive && reject(error),
      );
    });
  }

  get #failing(): IpcMode | undefined {
    return this.#clock.monotonicMs() < this.#untilMs ? this.#mode : undefined;
  }

  async #served<T>(life: Life, work: (at: Supervisor) => Promise<T>): Promise<T> {
    const failing = this.#failing;
    await sleep(life.clock, "ipc", failing === "slow" ? SLOW_MS : 2);
    const supervisor = this.#supervisor();
    if (!supervisor || failing === "down") throw new IpcError("unreachable", "nobody listens");
    const answer = await work(supervisor).catch((error: unknown) => error as Error);
    if (!supervisor.life.alive || failing === "lost-answer") {
      throw new IpcError("no-answer", "connection lost");
    }
    if (!(answer instanceof Error)) return answer;
    const status = answer instanceof MessageRefused ? 422 : 500;
    throw new IpcError("refused", answer.message, { status, cause: answer });
  }
}
