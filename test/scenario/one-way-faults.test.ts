import { expect, test } from "vitest";
import { protocols } from "../../src/simulator/terminal/registry.ts";
import { faultsOn, lie, UnaskedFaultHouse, type UnaskedLine } from "./one-way-fault-house.ts";

const lines: readonly UnaskedLine[] = [
  { line: "tcp", protocol: "concert", sessions: true },
  { line: "pty", protocol: "concert", sessions: true },
  { line: "tcp", protocol: "caisse-ap", sessions: false },
  { line: "pty", protocol: "caisse-ap", sessions: true },
];
/** Installations that share the faults of one line: most wait for a time of the product. */
const HOUSES = 1;
const PLAYS_MAX = 3;

test.concurrent.each(lines.filter(({ line }) => line === "tcp" || process.platform === "linux"))(
  "with every fault of $protocol on $line nobody claims what the bank does not say",
  async (at) => {
    const protocol = protocols.find(({ name }) => name === at.protocol);
    const faults = protocol ? faultsOn(protocol.faults, at) : [];
    const all = [...faults];
    const worker = async (number: number) => {
      const house = new UnaskedFaultHouse(at, `${at.protocol}-${at.line}-${number}`);
      try {
        await house.start();
        for (let next = all.shift(); next; next = all.shift()) {
          // On a busy machine a payment may end before its fault has its moment.
          for (let plays = 0; plays < PLAYS_MAX && !(await house.play(next)); plays++);
        }
        return await house.told();
      } finally {
        await house.stop();
      }
    };
    const told = (
      await Promise.all(Array.from({ length: HOUSES }, (_, number) => worker(number)))
    ).flat();
    const rows = told.map((one) =>
      [one.fault, one.answer, one.end, one.bank, one.gateway, one.ms, one.struck].join("  "),
    );
    process.stdout.write(`\n${at.protocol} ${at.line}\n${rows.toSorted().join("\n")}\n`);
    const struck = new Set(told.filter((one) => one.struck).map(({ fault }) => fault));
    expect([...struck].toSorted()).toEqual(faults.toSorted());
    expect(told.flatMap((one) => (lie(one) ? [{ ...one, lie: lie(one) }] : []))).toEqual([]);
    expect(told.filter(({ end }) => end === "Success").length).toBeGreaterThan(5);
  },
);
