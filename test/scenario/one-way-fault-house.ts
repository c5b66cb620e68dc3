import {
  type FaultTable,
  type LineTrait,
  missingTraits,
} from "../../src/simulator/terminal/faults/fault-kinds.ts";
import { asSlow } from "../support/clocks/patience.ts";
import { until } from "../support/programs/child-program.ts";
import { type Answer, TestInstallation } from "../support/programs/installation.ts";
import { rowsOf } from "../support/run/scope.ts";

/** A terminal that knows no cancel and no question, and what makes the connector speak to it. */
export interface OneWayLine {
  readonly line: "tcp" | "pty";
  readonly protocol: "concert" | "caisse-ap";
  readonly sessions: boolean;
}

const AMOUNT_MINOR = 500;
/** Short, so that the terminal has given up before the kiosk is answered. */
const timers = ["--answer-ms", "--session-ms", "--silence-ms"];

/** Only of a terminal that does not know the request: simulated-terminals.test.ts plays it. */
const notHere = "any-body";

/** Faults of the table that a line can have, those of a moment at each of two moments. */
export function faultsOn({ kinds }: FaultTable, at: OneWayLine): string[] {
  return Object.entries(kinds)
    .filter(([name, kind]) => name !== notHere && missingTraits(kind, traitsOf(at)).length === 0)
    .flatMap(([name]) => withMoments(name, at.sessions));
}

/** As the simulator calls the line of a case. */
export function traitsOf({
  line,
  sessions,
}: Pick<OneWayLine, "line" | "sessions">): readonly LineTrait[] {
  return [line === "tcp" ? "tcp" : "serial", sessions ? "sessions" : "bare"];
}

/** Two faults of one payment have a blank between them. */
function withMoments(name: string, sessions: boolean): string[] {
  switch (name) {
    case "refuse-connection":
      // A line of sessions stays open: a new connection needs one that was lost.
      return [sessions ? `unplug:at=charged,ms=50 ${name}` : name];
    case "mute":
      return ["mute:at=accepted", "mute:at=reply"];
    case "unplug":
      return ["unplug:at=accepted,ms=50", "unplug:at=charged,ms=50", "unplug:at=replied,ms=50"];
    case "reboot":
      return ["reboot:at=card", "reboot:at=charged"];
    case "hold":
      return ["hold:at=card,ms=300"];
    case "late-reply":
      return [`late-reply:ms=${asSlow(500)}`];
    case "status":
      return rowsOf(["7", "9", "X"], 2).map((as) => `status:as=${as}`);
    case "not-done":
      return rowsOf(["00", "04", "06", "07", "08", "09", "12", "none"], 3, 1).map(
        (af) => `not-done:af=${af}`,
      );
    default:
      return [name];
  }
}

/** One payment with a fault, when everything is over. */
interface FaultOutcome {
  readonly fault: string;
  /** The answer to the request, and what is known of the order in the end. */
  readonly answer: string;
  readonly end: string;
  /** Minor units that the bank has kept for it, and that the gateway has. */
  readonly bank: number;
  readonly gateway: readonly number[];
  readonly ms: number;
  /** The fault has struck. */
  readonly struck: boolean;
}

interface Played {
  readonly fault: string;
  readonly orderId: string;
  readonly answer: string;
  readonly bank: number;
  readonly ms: number;
  readonly struck: boolean;
}

/** One installation that plays faults one after the other. */
export class OneWayFaultHouse {
  readonly #at: TestInstallation;
  readonly #prefix: string;
  readonly #played: Played[] = [];

  constructor({ line, protocol, sessions }: OneWayLine, prefix: string) {
    this.#prefix = prefix;
    const own = protocol === "concert" ? {} : { CAISSE_AP_LINK: sessions ? "session" : "bare" };
    this.#at = new TestInstallation({
      line,
      config: {
        TERMINAL_PROTOCOL: protocol,
        ...own,
        PAYMENT_TIMEOUT: 2,
        PAYMENT_GRACE: 1,
        TEST_TIMERS: "yes",
        RECOVERY_SILENCE_MS: 50,
        GATEWAY_WAIT: 5_000,
        POLL_INTERVAL_MS: 100,
      },
      terminalSwitches: [
        "--protocol",
        protocol,
        ...(sessions && protocol !== "concert" ? ["--session"] : []),
        "--instant",
        "--reboot-ms",
        "100",
        "--enq-pause-ms",
        "100",
        ...timers.flatMap((name) => [name, String(asSlow(400, 3_000))]),
      ],
    });
  }

  async start(): Promise<void> {
    await this.#at.start();
    await this.#at.connected();
    await this.#at.firstPaid(`${this.#prefix}-first`);
  }

  stop(): Promise<void> {
    return this.#at.stop();
  }

  /** Whether the fault has struck. */
  async play(fault: string): Promise<boolean> {
    await this.#at.connected();
    await this.#free();
    const before = (await this.#at.ledger()).charged;
    const orderId = `${this.#prefix}-${this.#played.length + 1}`;
    for (const one of fault.split(" ")) await this.#at.arm(one);
    const startedMs = performance.now();
    const answer = await this.#at.pay(AMOUNT_MINOR / 100, orderId);
    const ms = Math.round(performance.now() - startedMs);
    await this.#idle();
    const struck = await this.#hasStruck();
    await this.#at.disarm();
    await this.#idle();
    const bank = (await this.#at.ledger()).charged - before;
    this.#played.push({ fault, orderId, answer: statusOf(answer), bank, ms, struck });
    return struck;
  }

  /** What everybody believes in the end: a result may have come late. */
  async outcomes(): Promise<readonly FaultOutcome[]> {
    await this.#free();
    const orders = await this.#at.orders();
    const outcomes = this.#played.map(async ({ orderId, ...played }): Promise<FaultOutcome> => {
      const answer = await this.#at.call("GET", `/payment/${orderId}`);
      const gateway = orders
        .filter(({ merchantReference }) => merchantReference === orderId)
        .map(({ amount }) => Math.round(Number(amount) * 100));
      return { ...played, end: statusOf(answer), gateway };
    });
    return await Promise.all(outcomes);
  }

  /** Until the recovery run of the payment before is over. */
  async #free(): Promise<void> {
    let probe = 0;
    await until("the terminal is free", async () => {
      const { one } = await this.#at.pay(
        1,
        `${this.#prefix}-free-${this.#played.length}-${probe++}`,
      );
      return one.status === "Success" || undefined;
    });
  }

  async #idle(): Promise<void> {
    await until("the terminal is idle", async () => {
      const asked = this.#at.control<{ readonly running: object | null }>("GET", "/state");
      const state = await asked.catch(() => undefined);
      return state?.running === null || undefined;
    });
  }

  /** One that is used up is gone; one without end counts. */
  async #hasStruck(): Promise<boolean> {
    const { armed } = await this.#at.control<{
      readonly armed: readonly { readonly struck: number }[];
    }>("GET", "/faults");
    return armed.every(({ struck }) => struck > 0);
  }
}

/** A status, or the code of a refusal that began nothing. */
function statusOf({ one }: Answer): string {
  return one.status === "Failed" ? `Failed ${one.error?.code}` : one.status;
}

/** Why an order is answered otherwise than bank and gateway have it; undefined: all agree. */
export function lie({ answer, end, bank, gateway }: FaultOutcome): string | undefined {
  const [charged, paid] = [bank > 0, end === "Success"];
  if (bank > AMOUNT_MINOR + 1) return "charged twice";
  if (charged && !paid && end !== "Unknown") return "a charge is answered as not paid";
  if (!charged && paid) return "no charge is answered as paid";
  if (gateway.length !== (paid ? 1 : 0)) return "the gateway has another number of orders";
  if (paid && gateway[0] !== bank) return "the gateway has another amount";
  return answer === end || answer === "Unknown" ? undefined : "the answer was not kept";
}
