import { expect, test } from "vitest";
import { isWhole, lines } from "../support/run/scope.ts";
import { FaultHouse, faultCases, kindsOn, type Outcome, tableOf } from "./fault-cases.ts";

/** Installations that share the faults of one line. */
const HOUSES = isWhole ? 2 : 1;
const PLAYS_MAX = 3;

const config = {
  TEST_TIMERS: "yes",
  ZVT_T1_MS: 100,
  ZVT_T2_MS: 200,
  ZVT_T3_MS: 400,
  ZVT_T4_MS: 700,
  RECOVERY_SILENCE_MS: 50,
  POLL_INTERVAL_MS: 100,
  GATEWAY_WAIT: 1_000,
  // The simulated terminal takes a sale back until the end of its receipt gets its ACK.
  ZVT_PRINTS_COUNT: "yes",
};

test.concurrent.each(lines)(
  "with every fault of the simulator on %s no answer contradicts the bank",
  async (line) => {
    const all = faultCases(line);
    const cases = [...all];
    const outcomes: Outcome[] = [];
    const worker = async (number: number): Promise<void> => {
      const house = new FaultHouse(line, `${line}-${number}`, config);
      try {
        await house.start();
        for (let next = cases.shift(); next; next = cases.shift()) {
          // On a busy machine the short timers may end a payment before its fault has its moment.
          for (let plays = 0, struck = false; plays < PLAYS_MAX && !struck; plays++) {
            const outcome = await house.play(next);
            outcomes.push(outcome);
            ({ struck } = outcome);
          }
        }
      } finally {
        await house.stop();
      }
    };
    const ended = await Promise.allSettled(
      Array.from({ length: HOUSES }, (_, number) => worker(number)),
    );
    process.stdout.write(`\n${line}\n${tableOf(outcomes, line)}\n`);
    expect(ended.filter(({ status }) => status === "rejected")).toEqual([]);
    const played = outcomes.map(({ fault }) => fault.split(":")[0]);
    expect(played).toEqual(expect.arrayContaining([...kindsOn(line)]));
    expect(outcomes.filter(({ agrees }) => !agrees)).toEqual([]);
    const struck = new Set(outcomes.filter((one) => one.struck).map(({ fault }) => fault));
    expect(outcomes.map(({ fault }) => fault).filter((fault) => !struck.has(fault))).toEqual([]);
    expect(outcomes.filter(({ journal }) => journal === "Unknown")).toEqual([]);
    const paid = outcomes.filter(({ journal }) => journal === "Success").length;
    expect(paid).toBeGreaterThan(all.length / 4);
    expect(outcomes.length - paid).toBeGreaterThan(all.length / 16);
  },
);
