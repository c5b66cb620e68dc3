import { caisseApProtocol, concertProtocol } from "./concert/concert-protocols.ts";
import type { TerminalProtocol } from "./machine.ts";
import { nexoProtocol } from "./nexo/nexo-protocol.ts";
import { zvtProtocol } from "./zvt/zvt-protocol.ts";

/** All protocols of the simulated terminal; the first is the default. */
export const protocols: readonly [TerminalProtocol, ...TerminalProtocol[]] = [
  zvtProtocol,
  concertProtocol,
  caisseApProtocol,
  nexoProtocol,
];
