import { join } from "node:path";
import { SessionLine } from "../../../../src/tp-manager/terminal/concert/link/session-line.ts";
import type { Dialogue, Messages } from "../../../../src/tp-manager/terminal/one-way/dialogue.ts";
import { OneWayTerminal } from "../../../../src/tp-manager/terminal/one-way/one-way-terminal.ts";
import { TestClock } from "../../../support/clocks/test-clock.ts";
import { temporaryFolder } from "../../../support/files/temporary-folder.ts";
import { type House, house, outcome, pay, request } from "../../../support/house/payment-house.ts";
import { recordingLog } from "../../../support/house/recording-log.ts";
import type { ScriptedTerminal } from "../../../support/terminals/scripted-terminal.ts";
import type { LinePeer } from "./line-peer.ts";

const PAYMENT_TIMEOUT_MS = 180_000;

export interface OneWayHouse<Peer extends LinePeer> {
  readonly at: House;
  readonly peer: Peer;
  readonly driver: OneWayTerminal;
  /** Pays 9.99 EUR, or another amount, and lets time pass until it is answered. */
  paid(orderId?: string, amountMinor?: number): Promise<string>;
  phase(orderId?: string): string | undefined;
  alarms(): string[];
}

interface Made<Peer> {
  readonly peer: (clock: TestClock) => Peer;
  readonly messages: Messages;
  readonly dialogue?: (peer: Peer, clock: TestClock) => Dialogue;
  /** A kiosk that is started again with its journal. */
  readonly path?: string;
}

/** The money side of tp-manager on a driver of this family, whose terminal is a test's. */
export async function oneWayHouse<Peer extends LinePeer>(
  made: Made<Peer>,
): Promise<OneWayHouse<Peer>> {
  const clock = new TestClock(new Date(2026, 0, 15, 13, 0, 0).getTime());
  const peer = made.peer(clock);
  const dialogue = made.dialogue?.(peer, clock) ?? new SessionLine(peer.transport, clock);
  const driver = new OneWayTerminal({
    messages: made.messages,
    dialogue,
    clock,
    log: recordingLog().log,
    waitMs: PAYMENT_TIMEOUT_MS + 30_000,
    quietMs: PAYMENT_TIMEOUT_MS + 10_000,
    silenceMs: 10_000,
  });
  const path = made.path ?? join(temporaryFolder(), "journal.db");
  // The house calls its terminal by the driver's interface alone.
  const at = house(path, driver as unknown as ScriptedTerminal, { clock });
  driver.start();
  at.start();
  await clock.advance(10);
  return {
    at,
    peer,
    driver,
    async paid(orderId = "A-1", amountMinor = 999) {
      let answered: string | undefined;
      const answer = pay(at, request(orderId, { amountMinor })).then(
        (result) => {
          answered = outcome(result);
        },
        (error: { code?: string }) => {
          answered = error.code ?? String(error);
        },
      );
      for (let steps = 0; answered === undefined && steps < 600; steps++)
        await clock.advance(1_000);
      await answer;
      return answered ?? "no answer";
    },
    phase: (orderId = "A-1") => at.journal.attempts.decisive(orderId)?.state.phase,
    alarms: () => at.hub.source.alarms(20).map(({ data }) => ("alarm" in data ? data.alarm : "")),
  };
}
