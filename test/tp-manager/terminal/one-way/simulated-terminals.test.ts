import { afterEach, describe, expect, test } from "vitest";
import {
  caisseApProtocol,
  concertProtocol,
} from "../../../../src/simulator/terminal/concert/concert-protocols.ts";
import type { ConcertOptions } from "../../../../src/simulator/terminal/concert/options.ts";
import {
  missingTraits,
  parseFault,
} from "../../../../src/simulator/terminal/faults/fault-kinds.ts";

import { completed } from "../../../../src/simulator/terminal/options.ts";
import { openTerminal } from "../../../../src/simulator/terminal/terminal-simulator.ts";
import { BareLine } from "../../../../src/tp-manager/terminal/caisse-ap/bare-line.ts";
import {
  type CaisseApOptions,
  caisseApMessages,
  identification,
} from "../../../../src/tp-manager/terminal/caisse-ap/caisse-ap-messages.ts";
import { concertMessages } from "../../../../src/tp-manager/terminal/concert/concert-messages.ts";
import { SessionLine } from "../../../../src/tp-manager/terminal/concert/link/session-line.ts";
import type { Dialogue } from "../../../../src/tp-manager/terminal/one-way/dialogue.ts";
import { OneWayTerminal } from "../../../../src/tp-manager/terminal/one-way/one-way-terminal.ts";
import { createTransport } from "../../../../src/tp-manager/terminal/transport/open-transport.ts";
import { traitsOf } from "../../../scenario/one-way-fault-house.ts";
import { PATIENCE_MS } from "../../../support/clocks/patience.ts";
import { steppedClock } from "../../../support/clocks/stepped-clock.ts";
import { temporaryFolder } from "../../../support/files/temporary-folder.ts";
import { house, outcome, pay, request } from "../../../support/house/payment-house.ts";
import { recordingLog } from "../../../support/house/recording-log.ts";
import { until } from "../../../support/programs/child-program.ts";
import { freePort } from "../../../support/programs/installation.ts";
import { lineIn } from "../../../support/programs/line-name.ts";
import { isWhole, tries } from "../../../support/run/scope.ts";
import type { ScriptedTerminal } from "../../../support/terminals/scripted-terminal.ts";

interface Setting {
  readonly transport: "tcp" | "pty";
  readonly family: "concert" | "caisse-ap";
  readonly sessions: boolean;
}

/** Every protocol family and every transport, with a line for each. */
const settings: readonly Setting[] = [
  { transport: "pty", family: "concert", sessions: true },
  { transport: "tcp", family: "caisse-ap", sessions: true },
  { transport: "tcp", family: "caisse-ap", sessions: false },
];
/** Faults after which the terminal stays away or busy, so recovery waits for it. */
const staysAway = ["hold", "unplug", "reboot"];
const titled = settings.map((setting) => {
  const { transport, family, sessions } = setting;
  return [`${family}, ${sessions ? "in sessions" : "bare"}, on ${transport}`, setting] as const;
});

const times = { answerMs: 150, pauseMs: 30, holdMs: 150, silenceMs: 150, quietMs: 30 };
const options: CaisseApOptions = {
  version: "0300",
  identifier: "012345678901",
  register: "01",
  reference: "CF",
  receipt: true,
};
const PAYMENTS = tries(20);
const open: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

/** A simulated terminal, a driver on its line, and the money side of tp-manager above. */
async function kiosk({ transport, family, sessions }: Setting, faults: readonly string[] = []) {
  const protocol = family === "concert" ? concertProtocol : caisseApProtocol;
  // The fault any-body takes effect at a request of a variant that the terminal does not know.
  const variant = faults.includes("any-body") ? "e" : "e-plus";
  // The driver tries again and again: a device or a port may meanwhile be that of another test.
  const link = lineIn(temporaryFolder());
  const simulator = await openTerminal(
    protocol,
    completed<ConcertOptions>(protocol.defaults, steppedClock, {
      tcp: transport === "tcp" ? { host: "127.0.0.1", port: await freePort() } : null,
      pty: transport === "pty" ? { link } : null,
      sessions,
      behaviour: { variant },
      faults: faults.map((fault) => parseFault(protocol.faults, fault)),
      timers: { answerMs: 150, sessionMs: 300, silenceMs: 100, enqPauseMs: 20, gapMs: 20 },
      pace: { customerMs: 0, hostMs: 0, walkAwayMs: 0, rebootMs: 20 },
    }),
  );
  open.push(simulator);
  const address = simulator.endpoints.tcp?.port
    ? `tcp://127.0.0.1:${simulator.endpoints.tcp?.port}`
    : link;
  const line = createTransport(address, { baudRate: 9_600, stopBits: 1 }, steppedClock);
  const dialogue: Dialogue = sessions
    ? new SessionLine(line, steppedClock, times, { minMs: 20, maxMs: 100 })
    : new BareLine(line, steppedClock, identification(options), new Uint8Array(0));
  const driver = new OneWayTerminal({
    messages:
      family === "concert"
        ? concertMessages({ variant: "e-plus", register: "01", report: true })
        : caisseApMessages(options),
    dialogue,
    clock: steppedClock,
    log: recordingLog().log,
    waitMs: 400,
    quietMs: 420,
    silenceMs: 20,
  });
  open.push(driver);
  // The house calls its terminal by the driver's interface alone.
  const at = house(undefined, driver as unknown as ScriptedTerminal);
  driver.start();
  at.start();
  if (sessions)
    await until("the line is open", () => driver.state.link === "connected" || undefined);
  const bank = (): number =>
    simulator.ledger.entries.filter(({ kind }) => kind === "charge").length;
  const struck = () => simulator.terminal.parts.faults.armed.every((one) => one.struck > 0);
  return { at, driver, simulator, bank, struck };
}

function faultsOf({ transport: line, family, sessions }: Setting): readonly string[] {
  const { faults } = family === "concert" ? concertProtocol : caisseApProtocol;
  const traits = traitsOf({ line, sessions });
  return Object.entries(faults.kinds).flatMap(([name, kind]) =>
    missingTraits(kind, traits).length === 0 ? [name] : [],
  );
}

/** All in the whole scope; elsewhere a fault of two lines of a family is on one of them. */
function playedHere(setting: Setting): readonly string[] {
  const others = settings.filter((each) => each !== setting && each.family === setting.family);
  const shared = faultsOf(setting).filter((name) => others.flatMap(faultsOf).includes(name));
  const elsewhere = shared.filter((_, number) => number % 2 === Number(setting.sessions));
  return faultsOf(setting).filter((name) => isWhole || !elsewhere.includes(name));
}

describe.each(titled)("%s", (_title, setting) => {
  test("each payment is charged once", async () => {
    const { at, simulator } = await kiosk(setting);
    for (let number = 1; number <= PAYMENTS; number++) {
      const amountMinor = 100 * number;
      const answer = await pay(at, request(`A-${number}`, { amountMinor }));
      expect(outcome(answer)).toBe("Success");
      expect(answer.body.receipt.primaryAccountNumber).toMatch(/^541333X{6}\d{4}$/);
    }
    const charged = simulator.ledger.entries.map(({ amountMinor }) => amountMinor);
    expect(charged).toEqual(at.supervisor.stored.map(({ amountMinor }) => amountMinor));
    expect(charged).toHaveLength(PAYMENTS);
  });

  test("a refusal is answered as declined, and the next payment succeeds", async () => {
    const { at, bank } = await kiosk(setting);
    const refused = await pay(at, request("A-1", { amountMinor: 1_205 }));
    expect([outcome(refused), bank()]).toEqual(["Declined", 0]);
    expect(outcome(await pay(at, request("A-2", { amountMinor: 1_200 })))).toBe("Success");
  });

  test("/check finds the terminal", async () => {
    const { driver, bank } = await kiosk(setting);
    expect((await driver.check(AbortSignal.timeout(PATIENCE_MS))).cr).toBe("0");
    expect(bank()).toBe(0);
  });

  test.each(playedHere(setting))(
    "the fault %s leads to no wrong answer about money",
    async (fault) => {
      const { at, bank, struck } = await kiosk(setting, [fault]);
      let answered: string;
      try {
        answered = outcome(await pay(at, request("A-1", { amountMinor: 1_200 })));
      } catch (error) {
        answered = (error as { code: string }).code;
      }
      await until("the fault has struck", () => struck() || undefined);
      const phase = () => at.journal.attempts.decisive("A-1")?.state.phase;
      if (answered === "Success") expect(bank()).toBe(1);
      else expect(["Unknown", "Declined", "Failed", "Cancelled"]).toContain(answered);
      if (phase() === "not-charged") expect(bank()).toBe(0);
      if (phase() === "charged") expect(at.supervisor.stored).toHaveLength(1);
      // Recovery ends, and a sale that was reported late counts.
      if (staysAway.includes(fault)) return;
      await until("the run ends", () => at.arbiter.inquiries.blockedBy === undefined || undefined);
      if (phase() === "not-charged") expect(bank()).toBe(0);
      if (phase() === "charged") expect(bank()).toBe(1);
    },
  );
});
