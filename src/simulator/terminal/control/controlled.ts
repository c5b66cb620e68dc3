import type { TerminalOptions } from "../options.ts";
import type { Endpoints } from "../port/connections.ts";
import type { Host, Machine, Supply, TerminalProtocol } from "../protocol.ts";

/** The running simulator, as far as it is controlled from outside. */
export interface Controlled
  extends Pick<Host<TerminalOptions>, "memory" | "ledger" | "faults" | "reboot" | "options"> {
  readonly protocol: Pick<TerminalProtocol, "name" | "faults" | "demands">;
  readonly terminal: Machine;
  readonly trace: Machine["trace"];
  readonly endpoints: Endpoints;
  readonly supply: Supply;
  /** Takes all lines away and brings them back after `awayMs`. */
  unplug(awayMs: number): Promise<void>;
  setCable(isIn: boolean): Promise<void>;
  setPower(on: boolean): Promise<void>;
  pause(ms: number): Promise<void>;
}
