import { describe, expect, test } from "vitest";
import { usedBy } from "../../../zvt/vector-uses.ts";
import { hasVectors, type Step } from "../../../zvt/vectors.ts";
import type { StartOptions } from "../support/start-simulator.ts";
import { started, type Transport } from "../support/started.ts";

/**
 * Recorded and published exchanges, with the simulator in the place of the terminal: it gets the
 * register's bytes and has to mean the same. Texts, dates, numbers and the count of prompts and
 * print messages differ from terminal to terminal and are not compared.
 */
interface Replay {
  readonly id: string;
  readonly transport: Transport;
  readonly options?: StartOptions;
  /** Armed at the start. */
  readonly faults?: readonly string[];
  /** Commands that bring the terminal to where the exchange begins. */
  readonly before?: readonly string[];
}

const approve = { behaviour: { outcome: "approve" } } as const;
const decline = { behaviour: { outcome: { decline: 5 } } } as const;
const waiting = { behaviour: { customer: "manual" } } as const;
const reservation = "0622 0a 04 000000002500 49 0978";

const replays: readonly Replay[] = [
  { id: "tcp-ict220-payment-start", transport: "tcp", options: waiting },
  {
    id: "tcp-valina-payment-start",
    transport: "tcp",
    options: waiting,
    before: ["0600 06 000000 08 0978"],
  },
  {
    id: "tcp-message-sequence-ids",
    transport: "tcp",
    options: { behaviour: { ...approve.behaviour, messageIds: true } },
    // The published example leaves 04 0F out.
    faults: ["no-report"],
  },
  { id: "tcp-flow-payment-ok", transport: "tcp", options: approve },
  { id: "tcp-flow-payment-rejected", transport: "tcp", options: decline },
  { id: "tcp-flow-issue-delayed-partial", transport: "tcp", options: approve },
  { id: "tcp-flow-issue-failed", transport: "tcp", options: approve },
  { id: "tcp-flow-issue-card-rejected", transport: "tcp", options: decline },
  {
    id: "tcp-flow-end-of-day-aborted",
    transport: "tcp",
    faults: ["fail:code=64,command=0650"],
  },
  { id: "tcp-rec-nexi-expired", transport: "tcp", options: decline },
  { id: "tcp-rec-nexi-payment-end-of-day", transport: "tcp", options: approve },
  { id: "tcp-rec-perl-payment", transport: "tcp", options: approve },
  { id: "tcp-pax-a80-repeat-receipt", transport: "tcp", faults: ["bare-repeat"] },
  {
    id: "tcp-opm-c60-registration",
    transport: "tcp",
    options: { behaviour: { customer: "manual", vending: true } },
  },
  {
    id: "tcp-open-reservations-list",
    transport: "tcp",
    options: approve,
    before: [reservation, reservation],
  },
  { id: "tcp-feig-reservation", transport: "tcp", options: approve },
  {
    id: "tcp-feig-reservation-reversal",
    transport: "tcp",
    options: { behaviour: { ...approve.behaviour, firstReceiptNumber: 231 } },
    before: [reservation],
  },
  { id: "serial-rec-ecrterm-full-day", transport: "pty", options: approve },
  { id: "serial-rec-zvtlib-registration", transport: "pty" },
  {
    id: "serial-rec-zvtlib-payment",
    transport: "pty",
    options: approve,
    before: ["0600 06 123456 9e 0978"],
  },
  {
    id: "serial-rec-zvtlib-nak-once",
    transport: "pty",
    faults: ["nak-storm:times=1,command=0600"],
  },
  {
    id: "serial-rec-zvtlib-crc-error",
    transport: "pty",
    faults: ["bad-crc:message=answer,command=0600"],
  },
  {
    id: "serial-rec-ecrterm-crc-error",
    transport: "pty",
    options: approve,
    faults: ["bad-crc:message=end,command=0600"],
  },
  { id: "serial-ingenico-status-enquiry", transport: "pty" },
];

const sessions = new Map(usedBy("session-against-simulator").map((vector) => [vector.id, vector]));

describe.skipIf(!hasVectors)("the conformance sessions", () => {
  test("are all replayed", () => {
    expect(replays.map(({ id }) => id).toSorted()).toEqual([...sessions.keys()].toSorted());
  });

  test.each(replays)("$id", async ({ id, transport, options, faults = [], before = [] }) => {
    const vector = sessions.get(id);
    const { register } = await started(transport, { ...options, faults });
    for (const command of before) await register.run(command);
    const rounds = roundsOf(vector?.steps ?? []);
    expect(rounds.length).toBeGreaterThan(0);
    for (const { command, naks, answers, expected } of rounds) {
      for (let i = 0; i < naks; i++) {
        register.send(command);
        expect(await register.next()).toBe("nak");
      }
      const heard: string[] = [];
      const left = [...answers];
      register.send(command);
      while (heard.length < expected.length) {
        const apdu = await register.nextApdu();
        heard.push(...meaningOf(apdu));
        if (!/^8[04]/.test(apdu)) {
          const answer = apdu.startsWith("040f") ? left.shift() : undefined;
          register.send(answer ?? ackOf(apdu));
        }
      }
      expect(heard, command).toEqual(expected);
    }
  });
});

interface Round {
  readonly command: string;
  /** How often the terminal refuses the frame before it takes it. */
  readonly naks: number;
  /** What the register says to reports, in order. */
  readonly answers: readonly string[];
  readonly expected: readonly string[];
}

/** The commands of a session, each with what the terminal meant. */
function roundsOf(steps: readonly Step[]): Round[] {
  const rounds: { command: string; naks: number; answers: string[]; expected: string[] }[] = [];
  let reported = false;
  for (const { direction, what, apdu, hex = "", crcOk = true } of steps) {
    const last = rounds.at(-1);
    const message = what === "frame" ? (apdu ?? "") : hex;
    if (direction === "PT->ECR" && what === "nak" && last) last.naks += 1;
    if ((what !== "frame" && what !== "apdu") || !crcOk) continue;
    if (direction === "PT->ECR") {
      last?.expected.push(...meaningOf(message));
      reported = message.startsWith("040f");
    } else if (/^8[04]/.test(message)) {
      if (reported) last?.answers.push(message);
    } else if (last?.command === message && last.naks > 0 && last.expected.length === 0) {
      // The repeat after NAK.
    } else {
      rounds.push({ command: message, naks: 0, answers: [], expected: [] });
    }
  }
  return rounds.map(withAcceptance);
}

/** One source left out all answers: its terminal went on, so it had accepted. */
function withAcceptance(round: Round): Round {
  const [first = ""] = round.expected;
  const wentOn = ["good", "not good", "completed", "aborted"].includes(first);
  return wentOn ? { ...round, expected: ["accepted", ...round.expected] } : round;
}

function meaningOf(apdu: string): string[] {
  const control = apdu.slice(0, 4);
  switch (control) {
    case "04ff":
    case "06d1":
    case "06d3":
      return [];
    case "8000":
      return ["accepted"];
    case "040f":
      // docs/zvt.md 7.1: Read Card leaves 27 out when it has read one.
      return [/^(2700|(?!27))/.test(apdu.slice(6)) ? "good" : "not good"];
    case "060f":
      return ["completed"];
    case "061e":
      return ["aborted"];
    default:
      return [control];
  }
}

/** With numbered messages the answer repeats the number (docs/zvt.md 9.4). */
function ackOf(apdu: string): string {
  const id = /1f7303(\d{6})$/.exec(apdu)?.[1];
  return id ? `80000806061f7303${id}` : "800000";
}
