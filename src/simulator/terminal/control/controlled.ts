import { FaultError, faultRequest } from "../faults/fault-request.ts";
import { canStrike, type FaultTable, type LineTrait } from "../faults/fault-table.ts";
import type { Machine } from "../machine.ts";
import type { Endpoints } from "../port/connections.ts";
import type { TerminalProtocol } from "../protocol.ts";
import type { Host } from "../terminal-parts.ts";

/** The running simulator, as far as it is controlled from outside. */
export interface Controlled extends Omit<Host, "drop"> {
  readonly protocol: Pick<TerminalProtocol, "name" | "faults" | "demands">;
  readonly terminal: Machine;
  readonly endpoints: Endpoints;
  /** Hands can take both from a terminal. */
  readonly supply: { readonly cableIn: boolean; readonly powered: boolean };
  /** Takes all lines away and brings them back after `awayMs`. */
  unplug(awayMs: number): Promise<void>;
  setCable(isIn: boolean): Promise<void>;
  setPower(on: boolean): Promise<void>;
  pause(ms: number): Promise<void>;
}

/** The faults that can strike on the lines that this terminal has. */
export function faultsHere({ protocol, terminal }: Controlled): FaultTable {
  const { kinds, ...others } = protocol.faults;
  const here = Object.entries(kinds).filter(([, kind]) => canStrike(kind, terminal.traits));
  return { ...others, kinds: Object.fromEntries(here) };
}

/** Arms a fault given as a name and loose arguments. Throws {@link FaultError}. */
export function arm(simulator: Controlled, name: string, given: Readonly<Record<string, unknown>>) {
  const { faults, protocol, terminal } = simulator;
  const { kinds } = protocol.faults;
  const { needs = [] } = (Object.hasOwn(kinds, name) ? kinds[name] : undefined) ?? {};
  const missing = needs.filter((trait) => !terminal.traits.includes(trait));
  if (missing.length > 0) {
    const lacking = missing.map((trait) => traitWords[trait]).join(" and ");
    throw new FaultError(`fault ${name} cannot strike here: this terminal has no ${lacking}`);
  }
  return faults.arm(faultRequest(faultsHere(simulator), name, given));
}

const traitWords: Readonly<Record<LineTrait, string>> = {
  tcp: "TCP",
  serial: "serial line",
  sessions: "sessions",
  bare: "messages without sessions",
};

/** Takes all faults back, and lets everything go on that one of them holds. Returns how many. */
export function disarm({ faults, terminal }: Controlled): number {
  const disarmed = faults.disarm();
  terminal.parts.release();
  return disarmed;
}
