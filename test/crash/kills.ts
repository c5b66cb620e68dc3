import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { CrashHouse, type KillResult } from "./crash-house.ts";
import { killPlan, terminalOf } from "./kill-plan.ts";
import { recordingLibrary } from "./power/recorder.ts";
import {
  type TerminalKind,
  type TerminalName,
  terminalKind,
  terminalNames,
} from "./terminal-kinds.ts";

interface KillOptions {
  readonly kills: number;
  readonly seed: number;
  /** Installations side by side; every second one has its terminal on a pseudo-terminal. */
  readonly houses: number;
  /** One line of JSON for each kill; those in it are not done again. */
  readonly results?: string;
  readonly report?: (result: KillResult) => void;
  readonly stopAtFirst?: boolean;
}

/** A house is given up for a new one after so many kills: ledgers stay short. */
const KILLS_PER_HOUSE = 100;

/** Kills, spread over some installations, and their results in the order of their numbers. */
export async function runKills(options: KillOptions): Promise<KillResult[]> {
  const results = new Map(readResults(options.results).map((each) => [each.index, each]));
  const open = Array.from({ length: options.kills }, (_, index) => index).filter(
    (index) => !results.has(index),
  );
  let stopped = false;
  const keep = (result: KillResult): void => {
    results.set(result.index, result);
    if (options.results) appendFileSync(options.results, `${JSON.stringify(result)}\n`);
    options.report?.(result);
    stopped ||= options.stopAtFirst === true && result.violations.length > 0;
  };
  const more = (): boolean => !stopped && open.length > 0;
  const served: TerminalName[] = [];
  const worker = async (number: number): Promise<void> => {
    const line = number % 2 === 0 || process.platform !== "linux" ? "tcp" : "pty";
    while (more()) {
      const terminal = neediest(open, served);
      const next = (): number | undefined => {
        const at = more() ? open.findIndex((index) => terminalOf(index) === terminal) : -1;
        return at < 0 ? undefined : open.splice(at, 1)[0];
      };
      served.push(terminal);
      await inOneHouse(terminalKind(terminal, line), next, options.seed, keep);
      served.splice(served.indexOf(terminal), 1);
    }
  };
  await Promise.all(Array.from({ length: options.houses }, (_, number) => worker(number)));
  return [...results.values()].sort((a, b) => a.index - b.index);
}

/** The terminal with the most kills still to do for each house that has one of its kind. */
function neediest(open: readonly number[], served: readonly TerminalName[]): TerminalName {
  const share = (name: TerminalName): number => {
    const houses = served.filter((each) => each === name).length + 1;
    return open.filter((index) => terminalOf(index) === name).length / houses;
  };
  return terminalNames.toSorted((a, b) => share(b) - share(a))[0] ?? "zvt";
}

async function inOneHouse(
  kind: TerminalKind,
  next: () => number | undefined,
  seed: number,
  keep: (result: KillResult) => void,
): Promise<void> {
  const house = new CrashHouse(kind);
  try {
    await house.open();
    let last: KillResult | undefined;
    for (let done = 0; done < KILLS_PER_HOUSE; done++) {
      const index = next();
      if (index === undefined) break;
      if (last) keep(last);
      last = await house.kill(killPlan(seed, index, recordingLibrary() !== null));
      if (last.violations.length > 0) break;
    }
    if (last)
      keep({ ...last, violations: [...last.violations, ...(await house.compareGateway())] });
  } finally {
    await house.close();
  }
}

function readResults(file: string | undefined): KillResult[] {
  if (file === undefined || !existsSync(file)) return [];
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as KillResult);
}
