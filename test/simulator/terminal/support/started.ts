import { afterEach } from "vitest";
import { steppedClock } from "../../../support/clocks/stepped-clock.ts";
import { ScriptedRegister } from "../zvt/support/register.ts";
import type { ZvtSimulator } from "./start-simulator.ts";
import { type StartOptions, startTerminalSimulator } from "./start-simulator.ts";

export type Transport = "tcp" | "pty";
export const transports: readonly Transport[] = ["tcp", "pty"];

interface Started {
  readonly simulator: ZvtSimulator;
  readonly register: ScriptedRegister;
  /** Connects once more, after the line was lost. */
  reconnect(): Promise<ScriptedRegister>;
}

const open: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const opened of open.splice(0).reverse()) await opened.close();
});

/** A simulator and a register on its line; both are closed when the test is over. */
export async function started(transport: Transport, options: StartOptions = {}): Promise<Started> {
  const simulator = await startTerminalSimulator({
    tcp: transport === "tcp" ? { host: "127.0.0.1", port: 0 } : null,
    pty: transport === "pty" ? { link: null } : null,
    clock: steppedClock,
    ...options,
    pace: {
      customerMs: 0,
      hostMs: 0,
      walkAwayMs: 0,
      reversalMs: 0,
      administrationMs: 0,
      goodsPauseMs: 10,
      rebootMs: 50,
      ...options.pace,
    },
  });
  open.push(simulator);
  const reconnect = async () => {
    const register = await connect(simulator);
    open.push(register);
    return register;
  };
  return { simulator, register: await reconnect(), reconnect };
}

function connect({ endpoints: { tcp, pty } }: ZvtSimulator): Promise<ScriptedRegister> {
  return tcp ? ScriptedRegister.tcp(tcp.port) : ScriptedRegister.serial(String(pty));
}

/** Registration with configuration byte BE: everything by the register, 06 D3 permitted. */
export const REGISTRATION = "0600 10 000000 be 0978 0300 06 06 26 04 0a 02 06d3";
/** The same without receipts: the register builds them from 04 0F (configuration byte 3E). */
export const REGISTRATION_WITHOUT_PRINT = "0600 0a 000000 3e 0978 0300 06 00";
export const LAST_TRANSACTION = "0620 05 000000 0303";
export const END_OF_DAY = "0650 03 000000";
export const STATUS = "0501 05 000000 0306";
export const ABORT = "06b0 00";

export function authorisation(amountMinor: number): string {
  return `0601 0a 04 ${String(amountMinor).padStart(12, "0")} 49 0978`;
}

/** What the bank believes, in short: `charge 1000 final`. */
export function bank({ ledger }: ZvtSimulator): string[] {
  return ledger.entries.map(({ kind, amountMinor, final, reason }) =>
    [kind, amountMinor, ...(final ? ["final"] : []), ...(reason ? [reason] : [])].join(" "),
  );
}

/** The control fields of messages: `["8000", "040f", "060f"]`. */
export function controls(messages: readonly string[]): string[] {
  return messages.map((message) => message.slice(0, 4));
}
