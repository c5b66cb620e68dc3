import { onTestFinished } from "vitest";
import type { Clock } from "../../../../../src/shared/time.ts";
import {
  caisseApProtocol,
  concertProtocol,
} from "../../../../../src/simulator/terminal/concert/concert-protocols.ts";
import type { ConcertOptions } from "../../../../../src/simulator/terminal/concert/options.ts";
import { parseFault } from "../../../../../src/simulator/terminal/faults/fault-kinds.ts";
import { completed, type StartOptions } from "../../../../../src/simulator/terminal/options.ts";
import { openTerminal } from "../../../../../src/simulator/terminal/terminal-simulator.ts";
import { steppedClock } from "../../../../support/clocks/stepped-clock.ts";
import { freePort } from "../../../../support/programs/installation.ts";
import { ScriptedRegister } from "./register.ts";

type ConcertSimulator = Awaited<ReturnType<typeof opened>>;
type Transport = "tcp" | "pty";
type Family = "concert" | "caisse-ap";

export interface Setting {
  readonly transport: Transport;
  readonly family: Family;
  readonly sessions: boolean;
}

export const settings: readonly Setting[] = (["tcp", "pty"] as const).flatMap((transport) => [
  { transport, family: "concert", sessions: true },
  { transport, family: "caisse-ap", sessions: true },
  { transport, family: "caisse-ap", sessions: false },
]);

interface Started {
  readonly simulator: ConcertSimulator;
  readonly register: ScriptedRegister;
  /** Connects once more. */
  reconnect(): Promise<ScriptedRegister>;
}

export type Given = Omit<StartOptions<ConcertOptions>, "faults"> & {
  readonly faults?: readonly string[];
};

function opened(family: Family, options: ConcertOptions) {
  return openTerminal(family === "concert" ? concertProtocol : caisseApProtocol, options);
}

/**
 * A simulator and a register on its line; both are closed when the test is over. A test that runs
 * at the same time as others of its file gives its own `atEnd`.
 */
export async function started(
  { transport, family, sessions }: Setting,
  { faults = [], ...given }: Given = {},
  atEnd: (close: () => Promise<void>) => void = onTestFinished,
  clock: Clock = steppedClock,
): Promise<Started> {
  const open: { close(): Promise<void> }[] = [];
  atEnd(async () => {
    for (const opened of open.reverse()) await opened.close();
  });
  const protocol = family === "concert" ? concertProtocol : caisseApProtocol;
  const options = completed<ConcertOptions>(protocol.defaults, clock, {
    // A port that nobody else is given while the terminal is unplugged.
    tcp: transport === "tcp" ? { host: "127.0.0.1", port: await freePort() } : null,
    pty: transport === "pty" ? { link: null } : null,
    sessions,
    ...given,
    faults: faults.map((fault) => parseFault(protocol.faults, fault)),
    timers: {
      answerMs: 150,
      sessionMs: 300,
      silenceMs: 100,
      enqPauseMs: 20,
      gapMs: 20,
      ...given.timers,
    },
    pace: { customerMs: 0, hostMs: 0, walkAwayMs: 0, rebootMs: 20, ...given.pace },
  });
  const simulator = await opened(family, options);
  open.push(simulator);
  const reconnect = async (): Promise<ScriptedRegister> => {
    const at = simulator.endpoints.tcp?.port ?? String(simulator.endpoints.pty);
    const register = await ScriptedRegister.open(at, sessions, () => simulator.terminal.idle());
    open.push(register);
    return register;
  };
  return { simulator, register: await reconnect(), reconnect };
}

/** A request of E+ for a debit, with its fields one after the other. */
export function fixedRequest(
  amountMinor: number,
  { flag = "1", type = "0", reference = "", options = "A010B010" } = {},
): string {
  const amount = String(amountMinor).padStart(8, "0");
  return `01${amount}${flag}1${type}978${reference.padEnd(10)}${options}`;
}

/** A message of tags for a debit. */
export function taggedRequest(
  amountMinor: number,
  more: Readonly<Record<string, string>> = {},
): string {
  return tags({
    CZ: "0300",
    CJ: "012345678901",
    CA: "01",
    CE: "978",
    CD: "0",
    CB: String(amountMinor),
    ...more,
  });
}

export function tags(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([tag, value]) => `${tag}${String(value.length).padStart(3, "0")}${value}`)
    .join("");
}

/** What the bank believes, in short: `charge 1200`. */
export function bank({ ledger }: ConcertSimulator): string[] {
  return ledger.entries.map(({ kind, amountMinor }) => `${kind} ${amountMinor}`);
}
