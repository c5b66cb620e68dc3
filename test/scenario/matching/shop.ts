import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { until } from "../../support/programs/child-program.ts";
import { type Answer, TestInstallation } from "../../support/programs/installation.ts";
import { isWhole } from "../../support/run/scope.ts";
import type { Course } from "./dialogue.ts";
import { LyingTerminal } from "./lying-terminal.ts";

interface ShopOptions {
  /** TERMINAL_SHARED: staff sell at the terminal too. */
  readonly shared?: boolean;
  /** With supervisor and gateway, which are asked when the journal has a gap. */
  readonly whole?: boolean;
}

/** All that is known of one order when everything is quiet. */
interface Known {
  readonly status: string;
  readonly charged: string;
  /** Payment commands that reached the terminal, and charges that were not given back. */
  readonly commands: number;
  readonly charges: number;
}

interface LogLine {
  readonly alarm?: string;
  readonly orderId?: string;
  readonly msg?: string;
}

/** A refusal for now: a kiosk asks again, with the same order. */
const askAgain = [
  "TERMINAL_IN_DOUBT",
  "TERMINAL_BUSY",
  "TERMINAL_DISCONNECTED",
  "TERMINAL_NO_ANSWER",
  "STORES_DISAGREE",
];
/** The terminal runs in the test's process, which a busy machine has kept waiting for 1.9 s. */
const timers = {
  TEST_TIMERS: "yes",
  ZVT_T2_MS: 20,
  ZVT_T3_MS: 3_000,
  ZVT_T4_MS: 4_000,
  RECOVERY_SILENCE_MS: 50,
  GATEWAY_WAIT: 0,
};

/** The amount that most customers of a shop pay, in minor units. */
export const PRICE = 2_345;

/** A kiosk with a real tp-manager and a terminal that does not always report the truth. */
export class Shop {
  readonly terminal: LyingTerminal;
  readonly at: TestInstallation;
  readonly #orders = new Set<string>();

  private constructor(terminal: LyingTerminal, { shared = false, whole = false }: ShopOptions) {
    this.terminal = terminal;
    const TERMINAL_SHARED = shared ? "yes" : "no";
    const config = { ...timers, TERMINAL_SHARED, SERIAL_PORT: terminal.address };
    this.at = new TestInstallation({ line: "own", alone: !whole, config });
  }

  /** `prepare` sets the terminal before it is connected. */
  static async open(
    options: ShopOptions = {},
    prepare: (terminal: LyingTerminal) => void = () => {},
  ): Promise<Shop> {
    const terminal = await LyingTerminal.start();
    prepare(terminal);
    return new Shop(terminal, options);
  }

  async start(): Promise<this> {
    await this.at.start();
    await this.at.connected();
    return this;
  }

  async stop(): Promise<void> {
    await Promise.all([this.at.stop(), this.terminal.stop()]);
    expect(this.terminal.faults).toEqual([]);
  }

  /** One request, answered as it is; `course` is what the terminal makes of its command. */
  async pay(orderId: string, amountMinor = PRICE, course?: Course): Promise<Answer> {
    const { terminal } = this;
    this.#orders.add(orderId);
    terminal.customer = orderId;
    if (course) terminal.courses.push(course);
    const answer = await this.at.pay(amountMinor / 100, orderId);
    await terminal.idle();
    return answer;
  }

  /** A payment that nothing disturbs. */
  async sell(orderId: string, amountMinor = PRICE): Promise<void> {
    const { one } = await this.asked(orderId, amountMinor);
    expect([one.status, one.error?.code]).toEqual(["Success", undefined]);
  }

  /** A kiosk that asks again for as long as the answer asks for it; all answers, last one first. */
  async answers(orderId: string, amountMinor = PRICE): Promise<[Answer, ...Answer[]]> {
    const answers: Answer[] = [];
    const ask = async (): Promise<Answer | undefined> => {
      const answer = await this.pay(orderId, amountMinor);
      answers.unshift(answer);
      return askAgain.includes(answer.one.error?.code ?? "") ? undefined : answer;
    };
    await until(`order ${orderId} is answered`, ask).catch((error: Error) => {
      throw new Error(`${error.message}: ${JSON.stringify(answers[0]?.one.error)}`);
    });
    return answers as [Answer, ...Answer[]];
  }

  async asked(orderId: string, amountMinor = PRICE): Promise<Answer> {
    return (await this.answers(orderId, amountMinor))[0];
  }

  /** The terminal is away for so many requests, which fail before anything leaves. */
  async refuseRequests(requests: number): Promise<void> {
    this.terminal.goAway();
    let failed = 0;
    await until("the requests have failed", async () => {
      const { one } = await this.at.pay(1, `turned-away-${failed}`);
      if (one.error?.code === "TERMINAL_DISCONNECTED") failed += 1;
      return failed === requests || undefined;
    });
    this.terminal.comeBack();
    await this.at.connected();
  }

  reverse(orderId: string): Promise<Answer> {
    this.terminal.customer = orderId;
    return this.at.call("POST", "/reversal", { orderId });
  }

  /** The terminal is asked about nothing any more. */
  async quiet(): Promise<void> {
    await until("nothing is in question", async () => {
      const { one } = await this.at.call("GET", "/health");
      const { obstacles: reasons, running } = one as unknown as {
        readonly obstacles: readonly { readonly code: string }[];
        readonly running: object | null;
      };
      const isFree = reasons.every(({ code }) => !askAgain.slice(0, -1).includes(code));
      return (isFree && running === null) || undefined;
    });
    await this.terminal.idle();
  }

  /** tp-manager is killed while the terminal waits for a card; then it is started again. */
  async killedPaying(orderId: string, meanwhile: (terminal: LyingTerminal) => void): Promise<void> {
    const begun = Promise.withResolvers<void>();
    const paying = this.pay(orderId, PRICE, async (at) => {
      begun.resolve();
      await at.waits();
    });
    await Promise.all([
      expect(paying).rejects.toThrow(),
      begun.promise.then(() => this.restart(() => meanwhile(this.terminal))),
    ]);
    await this.quiet();
  }

  /** kill -9 of tp-manager, and its next start on the same data. */
  async restart(meanwhile: () => void = () => {}): Promise<void> {
    await this.at.tpManager?.end("SIGKILL");
    meanwhile();
    await this.at.startTpManager();
    await this.at.connected();
  }

  async known(orderId: string): Promise<Known> {
    await this.quiet();
    const { one } = await this.at.call("GET", `/payment/${orderId}`);
    const { terminal } = this;
    return {
      status: one.status,
      charged: one.error?.charged ?? (one.status === "Reversed" ? "no" : "yes"),
      commands: terminal.paid.filter((paid) => paid === orderId).length,
      charges: terminal.count(orderId) - terminal.count(orderId, "money back"),
    };
  }

  /** Names of the alarms so far; of those only that name `orderId`, when it is given. */
  alarms(orderId?: string): string[] {
    const names = orderId === undefined ? undefined : new RegExp(`\\b${orderId}\\b`);
    return this.#log().flatMap(({ alarm, orderId: about = "", msg = "" }) =>
      alarm !== undefined && (!names || names.test(`${about} ${msg}`)) ? [alarm] : [],
    );
  }

  /** Resolves with the alarms that name the order, when there is one. */
  async alarmsOf(orderId: string): Promise<string[]> {
    return await until(
      `an alarm names order ${orderId}, not only ${this.alarms().join(", ")}`,
      () => (this.alarms(orderId).length > 0 ? this.alarms(orderId) : undefined),
    );
  }

  /** Every order of the shop is answered as the bank has it, and none is charged twice. */
  async expectSound(): Promise<void> {
    for (const orderId of this.#orders) {
      const { charged, charges } = await this.known(orderId);
      const allowed = charges === 0 ? ["no", "unknown"] : ["yes", "unknown"];
      expect({ orderId, charges, isTwice: charges > 1, charged }).toEqual({
        orderId,
        charges,
        isTwice: false,
        charged: expect.toBeOneOf(allowed),
      });
    }
  }

  #log(): LogLine[] {
    const text = readFileSync(join(this.at.data, "logs", "tp-manager.log"), "utf8");
    const lines = text.split("\n").filter((line) => line.startsWith("{") && line.endsWith("}"));
    return lines.map((line) => JSON.parse(line) as LogLine);
  }
}

/** A test that opens shops, which end with it. */
export const shopTest = test.extend<{ open: typeof Shop.open }>({
  open: async ({ task: _ }, use) => {
    const shops: Shop[] = [];
    await use(async (...args) => {
      const shop = await Shop.open(...args);
      shops.push(shop);
      return await shop.start();
    });
    await Promise.all(shops.map((shop) => shop.stop()));
  },
});

/** A test that differs in a detail from another one, and runs in the whole scope only. */
export const variantTest = isWhole ? shopTest : shopTest.skip;

/** The rows of a table that differ in a detail: the first one, in the whole scope all of them. */
export function variants<Row>(rows: readonly Row[]): readonly Row[] {
  return isWhole ? rows : rows.slice(0, 1);
}
