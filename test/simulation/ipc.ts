import type { IpcClient } from "../../src/shared/ipc/client.ts";
import { type Handlers, supervisorMessages } from "../../src/shared/ipc/contract.ts";
import { sleep } from "../../src/shared/time.ts";
import { SupervisorLink } from "../../src/tp-manager/supervisor/supervisor-link.ts";
import type { TestClock } from "../support/test-clock.ts";
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

  linkFor(life: Life): SupervisorLink {
    const call: IpcClient<Messages>["call"] = (name, request, limitMs) => {
      const received = JSON.parse(JSON.stringify(request));
      return this.#call(life, limitMs, async ({ handlers }) => {
        const { [name]: handler }: Handlers<Messages> = handlers;
        return await handler(supervisorMessages[name].request.parse(received) as never);
      });
    };
    return new SupervisorLink({ call }, GATEWAY_TIMEOUT_MS);
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
    await sleep(life.clock, "ipc", failing === "slow" ? SLOW_MS : 2);
    const supervisor = this.#supervisor();
    if (!supervisor || failing === "down") throw new Error("nobody listens");
    const answer = await work(supervisor);
    if (!supervisor.life.alive || failing === "lost-answer") throw new Error("connection lost");
    return answer;
  }
}
