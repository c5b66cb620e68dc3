import type { TerminalProtocol } from "../machine.ts";
import { fixedFaultTable, taggedFaultTable } from "./faults.ts";
import { FixedDialogue } from "./machine/fixed-dialogue.ts";
import { ConcertParts } from "./machine/payment.ts";
import { TaggedDialogue } from "./machine/tagged-dialogue.ts";
import { ConcertTerminal } from "./machine/terminal.ts";
import {
  type ConcertOptions,
  fixedDefaults,
  fixedSwitches,
  serialLines,
  taggedDefaults,
  taggedSwitches,
} from "./options.ts";
import { FixedReading, TaggedReading } from "./reading.ts";

type Protocol = TerminalProtocol<ConcertOptions, ConcertTerminal>;

const common = {
  serialLine: serialLines["7E1"],
  serialNumber: { form: /^\d{1,20}$/, says: "at most 20 digits" },
  demands: [],
  help: [],
} as const;

/** Concert (variants E, E+ and E with a ticket), on serial lines and over TCP. */
export const concertProtocol: Protocol = {
  ...common,
  name: "concert",
  title: "Concert",
  defaults: fixedDefaults,
  faults: fixedFaultTable,
  switches: fixedSwitches,
  machine: (host) => {
    const parts = new ConcertParts(host);
    return new ConcertTerminal(parts, new FixedDialogue(parts), new FixedReading());
  },
};

/** Caisse-AP, in sessions or as bare messages. */
export const caisseApProtocol: Protocol = {
  ...common,
  name: "caisse-ap",
  title: "Caisse-AP",
  defaults: taggedDefaults,
  faults: taggedFaultTable,
  switches: taggedSwitches,
  machine: (host) => {
    const parts = new ConcertParts(host);
    return new ConcertTerminal(parts, new TaggedDialogue(parts), new TaggedReading());
  },
};
