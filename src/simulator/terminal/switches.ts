import { code as currencyOfCode, number as currencyOfNumber } from "currency-codes";
import { PORT_MAX } from "../../shared/config/config-field.ts";
import { formed, oneOf, type SwitchTable, ValueError, whole } from "../switch-table.ts";
import { cardNames } from "./bank/cards.ts";
import { parseOutcomeRule } from "./bank/outcome.ts";
import { parseFault } from "./faults/fault-request.ts";
import {
  type Draft,
  defaultOptions,
  instantPace,
  type Pace,
  type SerialDevice,
  type SerialLine,
  type TerminalOptions,
} from "./options.ts";
import type { TerminalProtocol } from "./protocol.ts";
import { readScenario } from "./scenario.ts";

type Table = SwitchTable<Draft<TerminalOptions>>;

const { device, behaviour } = defaultOptions;

/** How terminal and register are connected; defaults are the protocol's own. */
function lines({ defaults, serialLine }: TerminalProtocol): Table {
  const { host, port } = defaults.tcp ?? { host: "127.0.0.1", port: 0 };
  return { ...tcpSwitches(`${host}:${port}`), ...ptySwitches, ...serialSwitches(serialLine) };
}

function tcpSwitches(usual: string): Table {
  return {
    tcp: {
      argument: "HOST:PORT",
      description: `listen on TCP; default ${usual}, port 0 takes a free one`,
      apply: (value, draft) => {
        const [, host = "", port] = /^(.+):(\d{1,5})$/.exec(value) ?? [];
        if (port === undefined || Number(port) > PORT_MAX) {
          throw new ValueError(`right would be ${usual}`);
        }
        draft.tcp = { host, port: Number(port) };
      },
    },
    "no-tcp": {
      description: "do not listen on TCP",
      apply: (_, draft) => {
        draft.tcp = null;
      },
    },
  };
}

const ptySwitches: Table = {
  pty: {
    description: "offer a pseudo-terminal, for registers with a serial line",
    apply: (_, draft) => {
      draft.pty = { link: draft.pty?.link ?? null };
    },
  },
  "pty-link": {
    argument: "PATH",
    description: "symbolic link that always points to the pseudo-terminal (implies --pty)",
    apply: (value, draft) => {
      draft.pty = { link: value };
    },
  },
};

function serialSwitches(usual: SerialLine): Table {
  const deviceOf = (draft: Draft<TerminalOptions>): SerialDevice =>
    draft.serial ?? { path: "", ...usual };
  return {
    serial: {
      argument: "PATH",
      description: "use a serial device, /dev/ttyUSB0 for example",
      apply: (value, draft) => {
        draft.serial = { ...deviceOf(draft), path: value };
      },
    },
    "baud-rate": {
      argument: "N",
      description: `speed of --serial; default ${usual.baudRate}`,
      apply: (value, draft) => {
        draft.serial = { ...deviceOf(draft), baudRate: whole(value, 1) };
      },
    },
    "stop-bits": {
      argument: "N",
      description: `stop bits of --serial, 1 or 2; default ${usual.stopBits}`,
      apply: (value, draft) => {
        const stopBits = oneOf(value, ["1", "2"] as const) === "1" ? 1 : 2;
        draft.serial = { ...deviceOf(draft), stopBits };
      },
    },
  };
}

/** Where the program keeps and tells things. */
const places = {
  "line-speed": {
    argument: "N",
    description: "slow serial lines down to N bits per second, 10 bits a byte",
    apply: (value, draft) => {
      draft.lineSpeed = whole(value, 1);
    },
  },
  control: {
    argument: "PORT",
    description: "control API on 127.0.0.1; port 0 takes a free one, GET / explains it",
    apply: (value, draft) => {
      draft.controlPort = whole(value, 0, PORT_MAX);
    },
  },
  "ready-file": {
    argument: "PATH",
    description: "write all endpoints as JSON to PATH once everything is open",
    apply: (value, draft) => {
      draft.readyFile = value;
    },
  },
  state: {
    argument: "FILE",
    description: "keep ledger and turnover in FILE (SQLite); default in memory only",
    apply: (value, draft) => {
      draft.stateFile = value;
    },
  },
} as const satisfies Table;

/** How the simulated world goes. */
const world = {
  instant: {
    description: "no artificial delay at all, for benchmarks",
    apply: (_, draft) => {
      draft.pace = { ...instantPace, ...draft.pace };
    },
  },
  "customer-delay-ms": pause("customerMs", "until the customer presents a card"),
  "card-wait-ms": pause("cardWaitMs", "how long --customer manual is waited for"),
  "walk-away-ms": pause(
    "walkAwayMs",
    "how long the customer of amounts with 68 cents is waited for",
  ),
  "host-delay-ms": pause("hostMs", "the bank's answer"),
  "reversal-ms": pause("reversalMs", "automatic reversal"),
  "administration-ms": pause("administrationMs", "initialisation, diagnosis, end of day"),
  "reboot-ms": pause("rebootMs", "how long a restart takes"),
  outcome: {
    argument: "RULE",
    description: "by-amount (default), approve, decline:CODE or customer-timeout",
    apply: (value, draft) => {
      const rule = parseOutcomeRule(value);
      if (!rule) throw new ValueError("right would be decline:05");
      draft.behaviour.outcome = rule;
    },
  },
  card: {
    argument: "NAME",
    description: `the customer's card: ${cardNames.join(", ")}; default ${behaviour.card}`,
    apply: (value, draft) => {
      draft.behaviour.card = oneOf(value, cardNames);
    },
  },
  customer: {
    argument: "WHO",
    description: "auto (default), or manual: the control API plays the customer",
    apply: (value, draft) => {
      draft.behaviour.customer = oneOf(value, ["auto", "manual"] as const);
    },
  },
  currency: {
    argument: "LIST",
    description: "currencies the terminal takes, EUR,CHF for example; default EUR",
    apply: (value, draft) => {
      draft.behaviour.currencies = value.split(",").map(currencyNumber);
    },
  },
  language: {
    argument: "CODE",
    description: "texts of the display: de, en (default), fr",
    apply: (value, draft) => {
      draft.behaviour.language = oneOf(value, ["de", "en", "fr"] as const);
    },
  },
  "terminal-id": {
    argument: "DIGITS",
    description: `eight digits; default ${device.terminalId}`,
    apply: (value, draft) => {
      draft.device.terminalId = formed(value, /^\d{8}$/, device.terminalId);
    },
  },
  "serial-number": {
    argument: "DIGITS",
    description: `an even number of digits, at most 20; default ${device.serialNumber}`,
    apply: (value, draft) => {
      draft.device.serialNumber = formed(value, /^(\d\d){1,10}$/, device.serialNumber);
    },
  },
  "contract-number": {
    argument: "TEXT",
    description: `the merchant's contract, at most 15 characters; default ${device.contractNumber}`,
    apply: (value, draft) => {
      draft.device.contractNumber = formed(value, /^[ -~]{1,15}$/, "1234567890");
    },
  },
  password: {
    argument: "DIGITS",
    description: "six digits that commands must bring; default any will do",
    apply: (value, draft) => {
      draft.device.password = formed(value, /^\d{6}$/, "000000");
    },
  },
  "first-receipt": {
    argument: "N",
    description: "first receipt number, 1 to 9999; default 1",
    apply: (value, draft) => {
      draft.behaviour.firstReceiptNumber = whole(value, 1, 9_999);
    },
  },
  "first-trace": {
    argument: "N",
    description: "first trace number, 1 to 999999; default 1",
    apply: (value, draft) => {
      draft.behaviour.firstTrace = whole(value, 1, 999_999);
    },
  },
  "clock-offset-ms": {
    argument: "N",
    description: "terminal clock ahead of ours (behind: --clock-offset-ms=-60000); default 0",
    apply: (value, draft) => {
      draft.device.clockOffsetMs = Number(formed(value, /^-?\d{1,12}$/, "-60000"));
    },
  },
  "restart-at": {
    argument: "HH:MM",
    description: "restart every day at this time and announce it; default never",
    apply: (value, draft) => {
      draft.behaviour.restartAt = formed(value, /^([01]\d|2[0-3]):[0-5]\d$/, "03:30");
    },
  },
} as const satisfies Table;

/** Every switch that is not a protocol's own, in the order of `--help`. */
export function terminalSwitches(protocol: TerminalProtocol): Table {
  const { faults } = protocol;
  return {
    ...lines(protocol),
    ...places,
    ...world,
    fault: {
      argument: "FAULT",
      multiple: true,
      description: "arm a fault, see below; may be given again and again",
      apply: (value, draft) => {
        draft.faults.push(parseFault(faults, value));
      },
    },
    scenario: {
      argument: "FILE",
      description: "JSON file with faults and what the first payments shall be like",
      apply: (value, draft) => {
        const scenario = readScenario(faults, value);
        draft.faults.push(...scenario.faults);
        draft.payments = scenario.payments;
      },
    },
  };
}

function pause(key: keyof Pace, what: string): Table[string] {
  return {
    argument: "N",
    description: `${what}; default ${defaultOptions.pace[key]}`,
    apply: (value, draft) => {
      draft.pace[key] = whole(value);
    },
  };
}

/** Four digits, from EUR or 978. */
function currencyNumber(text: string): string {
  const found = /^\d+$/.test(text)
    ? currencyOfNumber(text.padStart(3, "0"))
    : currencyOfCode(text.toUpperCase());
  if (!found) throw new ValueError("right would be EUR");
  return found.number.padStart(4, "0");
}
