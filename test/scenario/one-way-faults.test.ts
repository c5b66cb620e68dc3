import { test } from "vitest";
import { protocols } from "../../src/simulator/terminal/registry.ts";
import { isWhole, lines } from "../support/run/scope.ts";
import { faultsOn, lie, OneWayFaultHouse, type OneWayLine } from "./one-way-fault-house.ts";

const kinds: readonly OneWayLine[] = [
  { line: "tcp", protocol: "concert", sessions: true },
  { line: "pty", protocol: "concert", sessions: true },
  { line: "tcp", protocol: "caisse-ap", sessions: false },
  { line: "pty", protocol: "caisse-ap", sessions: true },
];
const PLAYS_MAX = 3;

/** Elsewhere than in the whole scope a fault that both lines can have is played on one of them. */
function faultsPlayed(at: OneWayLine): readonly string[] {
  const table = protocols.find(({ name }) => name === at.protocol)?.faults;
  const on = (one: OneWayLine): string[] => (table ? faultsOn(table, one) : []);
  const own = on(at);
  const others = kinds.filter(({ line, protocol }) => line !== at.line && protocol === at.protocol);
  if (isWhole || !others.some(({ line }) => lines.includes(line))) return own;
  const shared = own.filter((fault) => others.flatMap(on).includes(fault));
  const elsewhere = shared.filter((_, number) => number % 2 === lines.indexOf(at.line));
  return own.filter((fault) => !elsewhere.includes(fault));
}

test.concurrent.for(kinds.filter(({ line }) => lines.includes(line)))(
  "with every fault of $protocol on $line no answer contradicts the bank",
  async (at, { expect, onTestFinished }) => {
    const faults = faultsPlayed(at);
    const house = new OneWayFaultHouse(at, `${at.protocol}-${at.line}`);
    onTestFinished(() => house.stop());
    await house.start();
    for (const next of faults) {
      // On a busy machine a payment may end before its fault has its moment.
      for (let plays = 0; plays < PLAYS_MAX && !(await house.play(next)); plays++);
    }
    const outcomes = await house.outcomes();
    const rows = outcomes.map((one) =>
      [one.fault, one.answer, one.end, one.bank, one.gateway, one.ms, one.struck].join("  "),
    );
    process.stdout.write(`\n${at.protocol} ${at.line}\n${rows.toSorted().join("\n")}\n`);
    const struck = new Set(outcomes.filter((one) => one.struck).map(({ fault }) => fault));
    expect([...struck].toSorted()).toEqual(faults.toSorted());
    expect(outcomes.flatMap((one) => (lie(one) ? [{ ...one, lie: lie(one) }] : []))).toEqual([]);
    const paid = outcomes.filter(({ end }) => end === "Success").length;
    expect(paid).toBeGreaterThan(faults.length / 8);
  },
);
