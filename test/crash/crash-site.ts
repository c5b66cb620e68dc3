import { readFileSync } from "node:fs";
import { join } from "node:path";
import { openForReading } from "../../src/shared/store/sqlite.ts";
import { sleep, systemClock } from "../../src/shared/time.ts";
import { asSlow, PATIENCE_MS } from "../support/clocks/patience.ts";
import { ChildProgram, until } from "../support/programs/child-program.ts";
import {
  type Answer,
  GATEWAY_LOGIN,
  GATEWAY_PASSWORD,
  TestInstallation,
  WEBSITE_ID,
} from "../support/programs/installation.ts";
import type { Recorder } from "./power/recorder.ts";
import type { TerminalKind } from "./terminal-kinds.ts";
import { balanceOf } from "./verdict.ts";

/** One movement at the terminal's bank. */
interface BankEntry {
  readonly id: number;
  readonly kind: string;
  readonly amountMinor: number;
  readonly originalId: number | null;
  readonly reason: string | null;
}

/** What the journal says about an order when all is quiet. */
export interface Settled {
  /** "never begun" for an order that the journal does not know. */
  readonly status: string;
  readonly kinds: readonly string[];
  readonly attempts: unknown;
}

const operator = { login: "operator", password: "test-operator-password" };
const asOperator = {
  headers: { authorization: `Basic ${btoa(`${operator.login}:${operator.password}`)}` },
};

const LOG_LINES = 100;

/** However a command was disturbed, the next sale is made within this time. */
export const NEXT_SALE_MS = asSlow(30_000);

/** One installation of real processes with the calls that the kills need. */
export class CrashSite {
  readonly at: TestInstallation;
  readonly kind: TerminalKind;
  readonly #recorder: () => Recorder | undefined;
  #amountMinor = 10_000;

  constructor(kind: TerminalKind, recorder: (data: string) => Recorder | undefined) {
    this.kind = kind;
    this.#recorder = () => recorder(this.at.data);
    this.at = new TestInstallation({
      line: kind.line,
      simulatorPrograms: true,
      terminalSwitches: kind.switches,
      environment: (data) => recorder(data)?.environment ?? {},
      config: {
        OPERATOR_LOGIN: operator.login,
        OPERATOR_PWD: operator.password,
        TEST_TIMERS: "yes",
        GATEWAY_WAIT: 300,
        GATEWAY_TIMEOUT: 1_000,
        LOG_LEVEL: "info",
        ...kind.config,
      },
    });
  }

  get control(): string {
    return this.at.terminalEndpoints?.control ?? "";
  }

  /**
   * The launcher with these words. With `changes` it ends by kill -9 after so many changes to
   * files, or, where nothing can be recorded, after so many times 10 ms.
   */
  launcher(args: readonly string[], changes?: number): ChildProgram {
    const recorder = this.#recorder();
    const environment =
      changes === undefined ? recorder?.environment : recorder?.endingAfter(changes);
    const given = [...args, "--data", this.at.data];
    const launcher = new ChildProgram("launcher/main.ts", given, [], environment);
    if (changes !== undefined && !recorder) {
      systemClock.startTimer("kill", changes * 10, () => void launcher.end("SIGKILL"));
    }
    return launcher;
  }

  /** The end of tp-manager's log, for a reader who wants to know why. */
  newestLog(): readonly string[] {
    const file = join(this.at.data, "logs", "tp-manager.log");
    return readFileSync(file, "utf8").trimEnd().split("\n").slice(-LOG_LINES);
  }

  /** What supervisor.db has of an order, for a reader who wants to know why. */
  inOutbox(orderId: string): string {
    const database = openForReading(join(this.at.data, "supervisor.db"));
    const sql = `SELECT outbox.* FROM outbox JOIN transactions USING (transaction_id)
      WHERE order_id = ?`;
    const rows = database.prepare(sql).all(orderId);
    database.close();
    return JSON.stringify(rows);
  }

  /** An amount that no order had before; the cents are the bank's answer. */
  newAmount(): number {
    this.#amountMinor += 100;
    return this.#amountMinor;
  }

  asOperator(method: "GET" | "POST", path: string, body?: unknown): Promise<Answer> {
    return this.at.call(method, path, body, asOperator);
  }

  /** A charged order that the gateway has. Throws when there is none within the stated time. */
  async charged(orderId: string): Promise<number> {
    const amountMinor = this.newAmount();
    await until(
      `the next sale is made: ${orderId}`,
      async () => {
        const answer = await this.at.pay(amountMinor / 100, orderId).catch(() => undefined);
        return answer?.one.status === "Success" || undefined;
      },
      NEXT_SALE_MS,
    );
    return amountMinor;
  }

  /** Minor units that the bank has kept of an order of this amount. */
  async balanceOf(amountMinor: number): Promise<number> {
    return balanceOf(await this.movementsOf(amountMinor));
  }

  async entries(): Promise<readonly BankEntry[]> {
    return (await this.at.ledger()).entries as unknown as BankEntry[];
  }

  /** The charges of this amount and what was taken back of them. */
  async movementsOf(amountMinor: number): Promise<readonly BankEntry[]> {
    const entries = await this.entries();
    const charges = entries.filter(
      (entry) => entry.kind === "charge" && entry.amountMinor === amountMinor,
    );
    const ids = new Set(charges.map(({ id }) => id));
    return entries.filter(({ id, originalId }) => ids.has(id) || ids.has(originalId ?? 0));
  }

  /**
   * Asks for the order until nothing runs and nothing is in doubt that can be proved. On a serial
   * line a terminal whose report got its ACK by the link but never answered waits for the
   * answer as long as field 01 of the authorisation says, at least 10 s, before the terminal
   * reverses and is idle again (docs/zvt.md 8.2). Only then can anybody ask it.
   */
  async settled(orderId: string): Promise<Settled> {
    const deadlineMs = systemClock.monotonicMs() + PATIENCE_MS;
    for (;;) {
      const answered = await this.#answered(orderId);
      if (answered?.status === "never begun") return answered;
      const isOpen = !answered || answered.status === "Unknown" || answered.status === "Approved";
      if (!isOpen && (await this.quiet())) return answered;
      if (systemClock.monotonicMs() > deadlineMs) {
        const { running, output } = this.at.tpManager ?? {};
        const remains = { running, output: output?.slice(-2_000) };
        return answered ?? { status: "Unknown", kinds: [], attempts: remains };
      }
      await sleep(systemClock, "settled", 40);
    }
  }

  /** What the journal says about an order now. */
  known(orderId: string): Promise<Settled> {
    return until(`${orderId} is answered`, () => this.#answered(orderId));
  }

  /** undefined: tp-manager does not answer. */
  async #answered(orderId: string): Promise<Settled | undefined> {
    const answer = await this.at.call("GET", `/payment/${orderId}`).catch(() => undefined);
    const { status, error } = answer?.one ?? {};
    if (!answer || status === undefined) return undefined;
    const { attempts = [] } = answer.one as {
      attempts?: Array<{ events: Array<{ kind: string; because?: string }> }>;
    };
    const kinds = attempts.flatMap(({ events }) =>
      events.map(({ kind, because }) => (because ? `${kind}: ${because}` : kind)),
    );
    const isKnown = error?.code !== "ORDER_NOT_FOUND";
    return {
      status: isKnown ? status : "never begun",
      kinds,
      attempts: attempts.length > 0 ? attempts : answer.one,
    };
  }

  /** The terminal is idle: an automatic reversal would be over. */
  async quiet(): Promise<boolean> {
    const state = (await (await fetch(`${this.control}/state`)).json()) as { running: unknown };
    return state.running === null;
  }

  /** An order at the gateway that is paid by confirming it, as only another system places one. */
  async orderForManualCapture(
    orderId: string,
    amountMinor: number,
    transactionId: string,
  ): Promise<void> {
    const fields = {
      websiteId: WEBSITE_ID,
      categoryId: "1",
      currency: "EUR",
      amount: (amountMinor / 100).toFixed(2),
      rating: "ALL",
      locale: "en_GB",
      customerIpAddress: "127.0.0.1",
      executionDate: "2026-07-05T03:09:26",
      manualCapture: "1",
      description: orderId,
      urlCallback: "http://127.0.0.1:1/notify",
      merchantReference: orderId,
      freeData: `<item><key>transactionId</key><value>${transactionId}</value></item>`,
      wsLogin: GATEWAY_LOGIN,
      wsPassword: GATEWAY_PASSWORD,
    };
    const parameters = Object.entries(fields).map(([name, value]) => `<${name}>${value}</${name}>`);
    const body =
      `<e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/"><e:Body><o:generate ` +
      `xmlns:o="${this.at.sandboxUrl}/soap/payment-v2"><parameters>${parameters.join("")}` +
      `</parameters></o:generate></e:Body></e:Envelope>`;
    const headers = { "content-type": "text/xml; charset=utf-8" };
    const url = `${this.at.sandboxUrl}/soap/payment-v2`;
    const response = await fetch(url, { method: "POST", headers, body });
    const text = await response.text();
    if (!/<code[^>]*>0<\/code>/.test(text)) throw new Error(`the sandbox: ${text}`);
  }

  async post(url: string, body: object): Promise<void> {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${url}: ${await response.text()}`);
  }
}
