import { afterEach, describe, expect, test } from "vitest";
import { containsPan } from "../../../src/shared/masking/mask.ts";
import {
  caisseApProtocol,
  concertProtocol,
} from "../../../src/simulator/terminal/concert/concert-protocols.ts";
import type { ConcertOptions } from "../../../src/simulator/terminal/concert/options.ts";
import type { Machine, TerminalProtocol } from "../../../src/simulator/terminal/machine.ts";
import { nexoProtocol } from "../../../src/simulator/terminal/nexo/nexo-protocol.ts";
import {
  completed,
  type StartOptions,
  type TerminalOptions,
} from "../../../src/simulator/terminal/options.ts";
import {
  openTerminal,
  type TerminalSimulator,
} from "../../../src/simulator/terminal/terminal-simulator.ts";
import { zvtProtocol } from "../../../src/simulator/terminal/zvt/zvt-protocol.ts";
import { BareLine } from "../../../src/tp-manager/terminal/caisse-ap/bare-line.ts";
import {
  type CaisseApOptions,
  caisseApMessages,
  identification,
} from "../../../src/tp-manager/terminal/caisse-ap/caisse-ap-messages.ts";
import { concertMessages } from "../../../src/tp-manager/terminal/concert/concert-messages.ts";
import { SessionLine } from "../../../src/tp-manager/terminal/concert/link/session-line.ts";
import { NexoTerminal } from "../../../src/tp-manager/terminal/nexo/nexo-terminal.ts";
import type { Dialogue, Messages } from "../../../src/tp-manager/terminal/one-way/dialogue.ts";
import { OneWayTerminal } from "../../../src/tp-manager/terminal/one-way/one-way-terminal.ts";
import {
  type PaymentObserver,
  type PaymentOrder,
  type Terminal,
  TerminalUnavailable,
  type TransactionReport,
} from "../../../src/tp-manager/terminal/terminal.ts";
import { createTransport } from "../../../src/tp-manager/terminal/transport/open-transport.ts";
import { ZvtTerminal } from "../../../src/tp-manager/terminal/zvt/zvt-terminal.ts";
import { PATIENCE_MS } from "../../support/clocks/patience.ts";
import { steppedClock } from "../../support/clocks/stepped-clock.ts";
import { recordingLog } from "../../support/house/recording-log.ts";
import { nexoOptions } from "../../support/terminals/nexo-options.ts";
import { declined } from "../../support/terminals/reports.ts";
import { ScriptedTerminal } from "../../support/terminals/scripted-terminal.ts";

/** A terminal on its line, as the arbiter gets it from a driver. */
interface Made {
  readonly terminal: Terminal;
  /** What the bank has charged, in minor units; undefined without a bank. */
  charged?(): number[];
  /** The terminal goes away for good. */
  vanish(): Promise<void>;
}

const { log } = recordingLog();
const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

async function simulated<O extends TerminalOptions, M extends Machine>(
  protocol: TerminalProtocol<O, M>,
  driverAt: (address: string, simulator: TerminalSimulator<O, M>) => Terminal,
): Promise<Made> {
  const given: Partial<TerminalOptions> = {
    tcp: { host: "127.0.0.1", port: 0 },
    pace: { ...protocol.defaults.pace, customerMs: 0, hostMs: 0, walkAwayMs: 0, rebootMs: 20 },
  };
  const options = completed(protocol.defaults, steppedClock, given as unknown as StartOptions<O>);
  const simulator = await openTerminal(protocol, options);
  const terminal = driverAt(`tcp://127.0.0.1:${simulator.endpoints.tcp?.port}`, simulator);
  open.push(terminal);
  let gone: Promise<void> | undefined;
  const vanish = (): Promise<void> => (gone ??= simulator.close());
  open.unshift({ close: vanish });
  const charged = (): number[] =>
    simulator.ledger.entries.flatMap(({ kind, amountMinor }) =>
      kind === "charge" ? [amountMinor] : [],
    );
  return { terminal, charged, vanish };
}

const lineAt = (address: string) =>
  createTransport(address, { baudRate: 9_600, stopBits: 1 }, steppedClock);

function oneWayDriver(messages: Messages, dialogue: Dialogue): Terminal {
  return new OneWayTerminal({
    messages,
    dialogue,
    clock: steppedClock,
    log,
    waitMs: 1_000,
    quietMs: 1_050,
    silenceMs: 50,
  });
}

const tagged: CaisseApOptions = {
  version: "0300",
  identifier: "012345678901",
  register: "01",
  reference: "CF",
  receipt: true,
};
const times = { answerMs: 300, pauseMs: 30, holdMs: 300, silenceMs: 300, quietMs: 30 };

const sessionsAt = (address: string): Dialogue =>
  new SessionLine(lineAt(address), steppedClock, times, { minMs: 20, maxMs: 100 });

/** The dialogue of fixed fields, with a terminal that accepts this form of a request. */
function fixed(variant: ConcertOptions["behaviour"]["variant"]): Promise<Made> {
  const { behaviour, ...others } = concertProtocol.defaults;
  const defaults = { ...others, behaviour: { ...behaviour, variant } };
  return simulated({ ...concertProtocol, defaults }, (address) =>
    oneWayDriver(concertMessages({ variant, register: "01", report: true }), sessionsAt(address)),
  );
}

const drivers: Readonly<Record<string, () => Promise<Made>>> = {
  scripted: () => {
    const terminal = new ScriptedTerminal();
    const paid = terminal.script;
    terminal.script = (order, observer) => {
      if (order.amountMinor % 100 !== 5) return paid(order, observer);
      observer.report(declined({ amountMinor: order.amountMinor }));
      return Promise.resolve({ end: "completed", ticket: "" });
    };
    return Promise.resolve({
      terminal,
      vanish: () => {
        terminal.unavailable = new TerminalUnavailable("disconnected", "it went away");
        terminal.script = () =>
          Promise.resolve({ end: "lost", code: "", text: "it went away", ticket: "" });
        return Promise.resolve();
      },
    });
  },
  zvt: () =>
    simulated(
      zvtProtocol,
      (address) =>
        new ZvtTerminal(
          {
            timers: { t1Ms: 200, t2Ms: 1_000, t3Ms: 1_000, t4Ms: 1_500 },
            silenceMs: 20,
            reconnect: { minMs: 5, maxMs: 20 },
          },
          { transport: lineAt(address), clock: steppedClock, log },
        ),
    ),
  "concert e": () => fixed("e"),
  "concert e-plus": () => fixed("e-plus"),
  "concert e-ticket": () => fixed("e-ticket"),
  "caisse-ap": () =>
    simulated(caisseApProtocol, (address) =>
      oneWayDriver(
        caisseApMessages(tagged),
        new BareLine(lineAt(address), steppedClock, identification(tagged), new Uint8Array(0)),
      ),
    ),
  "caisse-ap in sessions": () => {
    const defaults = { ...caisseApProtocol.defaults, sessions: true };
    return simulated({ ...caisseApProtocol, defaults }, (address) =>
      oneWayDriver(caisseApMessages(tagged), sessionsAt(address)),
    );
  },
  nexo: () =>
    simulated(nexoProtocol, (_address, simulator) => {
      const options = nexoOptions(simulator);
      return new NexoTerminal({ options, clock: steppedClock, log });
    }),
};

const order = (amountMinor: number): PaymentOrder => ({
  amountMinor,
  currencyNumeric: "978",
  currencyAlpha: "EUR",
  reference: "KTESTTEST7",
});

/** What a driver reports to the arbiter about one payment, in order. */
class Hearing implements PaymentObserver {
  readonly heard: string[] = [];
  readonly reports: TransactionReport[] = [];
  isFull = false;

  report(report: TransactionReport): "accept" {
    if (this.isFull) throw new Error("disk full");
    this.heard.push(report.good ? "good" : report.resultCode === null ? "nothing" : "bad");
    this.reports.push(report);
    return "accept";
  }

  ackArrived(): void {
    this.heard.push("acknowledged");
  }

  prompt(): void {}

  concerns(): boolean {
    return true;
  }
}

const soon = (): AbortSignal => AbortSignal.timeout(PATIENCE_MS);

/** Pays as the arbiter does: prepares the terminal, then sends the payment once. */
async function paid({ terminal }: Made, amountMinor: number, hearing = new Hearing()) {
  await terminal.prepare(soon());
  const end = await terminal.pay(order(amountMinor), hearing);
  return { end, hearing };
}

describe.each(Object.entries(drivers))("the driver %s", (_name, make) => {
  const started = async (): Promise<Made> => {
    const made = await make();
    made.terminal.start();
    const deadline = steppedClock.monotonicMs() + 8_000;
    while (made.terminal.state.link !== "connected" && steppedClock.monotonicMs() < deadline) {
      await new Promise((resolve) => steppedClock.startTimer("link", 5, () => resolve(null)));
    }
    return made;
  };

  test("reports an approval before it ends, and ends as completed", async () => {
    const made = await started();
    const { end, hearing } = await paid(made, 1_200);
    expect(end.end).toBe("completed");
    expect(hearing.heard.filter((name) => name !== "acknowledged")).toEqual(["good"]);
    expect(hearing.reports[0]).toMatchObject({ good: true, amountMinor: 1_200 });
    if (made.charged) expect(made.charged()).toEqual([1_200]);
  });

  test("reports a refusal as not good, with a code and a reason", async () => {
    const made = await started();
    const { end, hearing } = await paid(made, 1_205);
    expect(["completed", "aborted"]).toContain(end.end);
    expect(hearing.heard).not.toContain("good");
    const [report] = hearing.reports;
    if (report) expect([report.good, report.resultCode === null]).toEqual([false, false]);
    if (made.charged) expect(made.charged()).toEqual([]);
  });

  test("reports everything as plain data, without a card number", async () => {
    const made = await started();
    const baseline = await made.terminal.prepare(soon());
    const hearing = new Hearing();
    const end = await made.terminal.pay(order(1_200), hearing);
    const reported = { baseline, end, reports: hearing.reports };
    expect(JSON.parse(JSON.stringify(reported))).toEqual(reported);
    expect(containsPan(JSON.stringify(reported))).toBe(false);
  });

  test("does not end as completed while its report is not on disk", async () => {
    const made = await started();
    const hearing = new Hearing();
    hearing.isFull = true;
    if (made.charged === undefined) return;
    const { end } = await paid(made, 1_200, hearing);
    expect(end.end).not.toBe("completed");
    expect(["lost", "aborted"]).toContain(end.end);
  });

  test("never throws from a payment, and never denies one that was lost on the wire", async () => {
    const made = await started();
    await made.terminal.prepare(soon());
    const hearing = new Hearing();
    const running = made.terminal.pay(order(1_200), hearing);
    await made.vanish();
    const { end } = await running;
    if (hearing.heard.includes("good")) expect(["completed", "lost"]).toContain(end);
    else expect(["lost", "not-sent"]).toContain(end);
    if (end === "not-sent" && made.charged) expect(made.charged()).toEqual([]);
  });

  test("refuses to prepare with TerminalUnavailable when the terminal is gone", async () => {
    const made = await started();
    await made.vanish();
    await expect(made.terminal.prepare(soon())).rejects.toBeInstanceOf(TerminalUnavailable);
  });

  test("has the methods that its capabilities declare", async () => {
    const { terminal } = await started();
    const { capabilities, state } = terminal;
    const isOneWay = capabilities.cannotRefuse === true && capabilities.recalls !== true;
    expect(terminal.takeLateResults !== undefined).toBe(isOneWay);
    expect(terminal.recall !== undefined).toBe(capabilities.recalls === true);
    if (capabilities.noIdentity) expect(Object.values(state.identity).join("")).toBe("");
    if (isOneWay) {
      const absent = ["cancel", "reverse", "reset", "telecollect", "decideGoods"] as const;
      expect(absent.filter((member) => terminal[member] !== undefined)).toEqual([]);
    }
    const last = await terminal.lastTransaction(soon());
    if (!capabilities.lastTransaction) expect(last.kind).toBe("not-told");
  });

  test("answers a status request when it is idle", async () => {
    const { terminal } = await started();
    expect(await terminal.check(soon())).toMatchObject({ cr: "0", periph: "0" });
  });

  test("sends no more events after an unsubscribe", async () => {
    const { terminal, vanish } = await make();
    const events: string[] = [];
    const stop = terminal.subscribe(({ type }) => events.push(type));
    stop();
    terminal.start();
    await vanish();
    expect(events).toEqual([]);
  });
});
