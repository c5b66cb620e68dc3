import { readFileSync } from "node:fs";
import { code as currencyOfCode, number as currencyOfNumber } from "currency-codes";
import { z } from "zod";
import { PORT_MAX } from "../../shared/config/config-field.ts";
import {
  flag,
  formed,
  list,
  oneOf,
  option,
  type Switch,
  type SwitchTable,
  ValueError,
  whole,
} from "../switch-table.ts";
import { cardNames } from "./bank/cards.ts";
import { parseOutcomeRule } from "./bank/ledger.ts";
import {
  FaultError,
  type FaultRequest,
  type FaultTable,
  faultRequest,
  parseFault,
} from "./faults/fault-kinds.ts";
import type { TerminalProtocol } from "./machine.ts";
import {
  type Draft,
  defaultOptions,
  type Group,
  instantPace,
  type PaymentScript,
  type SerialLine,
  type TerminalOptions,
} from "./options.ts";

type Table = SwitchTable<Draft<TerminalOptions>>;

/** Makes switches whose value sets members of one group of the options. */
export function groupOption<O extends TerminalOptions, G extends Group & keyof O>(group: G) {
  return (
    argument: string,
    description: string,
    read: (value: string, before: Partial<O[G]>) => Partial<O[G]>,
  ): Switch<Draft<O>> =>
    option(argument, description, (value, draft) => {
      const before = draft[group] as Partial<O[G]>;
      return { [group]: { ...before, ...read(value, before) } } as Partial<Draft<O>>;
    });
}

/** Makes switches without a value that set members of one group of the options. */
export function groupFlag<O extends TerminalOptions, G extends Group & keyof O>(group: G) {
  return (description: string, change: Partial<O[G]>): Switch<Draft<O>> =>
    flag(description, (draft) => {
      return { [group]: { ...(draft[group] as object), ...change } } as Partial<Draft<O>>;
    });
}

/** Makes switches for the durations of one group, in milliseconds. */
export function durations<O extends TerminalOptions, G extends Group & keyof O>(
  group: G,
  { [group]: usual }: Omit<O, "clock">,
) {
  return (key: keyof O[G], what: string): Switch<Draft<O>> =>
    groupOption<O, G>(group)("N", `${what}; default ${String(usual[key])}`, (value) => {
      return { [key]: whole(value) } as Partial<O[G]>;
    });
}

const { device: usualDevice, behaviour: usual } = defaultOptions;
const device = groupOption<TerminalOptions, "device">("device");
const behaviour = groupOption<TerminalOptions, "behaviour">("behaviour");
const pace = durations<TerminalOptions, "pace">("pace", defaultOptions);

/** Returns the switches for lines, with the protocol's defaults. */
function lines({ defaults, serialLine }: TerminalProtocol): Table {
  const { host, port } = defaults.tcp ?? { host: "127.0.0.1", port: 0 };
  return { ...tcpSwitches(`${host}:${port}`), ...ptySwitches, ...serialSwitches(serialLine) };
}

function tcpSwitches(usual: string): Table {
  return {
    tcp: option(
      "HOST:PORT",
      `listen on TCP; default ${usual}, port 0 takes a free one`,
      (value) => {
        const [, host = "", port] = /^(.+):(\d{1,5})$/.exec(value) ?? [];
        if (port === undefined || Number(port) > PORT_MAX) {
          throw new ValueError(`right would be ${usual}`);
        }
        return { tcp: { host, port: Number(port) } };
      },
    ),
    "no-tcp": flag("do not listen on TCP", () => ({ tcp: null })),
  };
}

const ptySwitches: Table = {
  pty: flag("offer a pseudo-terminal, for registers with a serial line", ({ pty }) => ({
    pty: { link: pty?.link ?? null },
  })),
  "pty-link": option(
    "PATH",
    "symbolic link that always points to the pseudo-terminal (implies --pty)",
    (link) => ({ pty: { link } }),
  ),
};

function serialSwitches(line: SerialLine): Table {
  const none = { path: "", ...line };
  return {
    serial: option("PATH", "use a serial device, /dev/ttyUSB0 for example", (path, { serial }) => ({
      serial: { ...(serial ?? none), path },
    })),
    "baud-rate": option(
      "N",
      `speed of --serial; default ${line.baudRate}`,
      (value, { serial }) => ({ serial: { ...(serial ?? none), baudRate: whole(value, 1) } }),
    ),
    "stop-bits": option(
      "N",
      `stop bits of --serial, 1 or 2; default ${line.stopBits}`,
      (value, { serial }) => {
        const stopBits = oneOf(value, ["1", "2"] as const) === "1" ? 1 : 2;
        return { serial: { ...(serial ?? none), stopBits } };
      },
    ),
  };
}

/** Line speed, control API and files. */
const files: Table = {
  "line-speed": option(
    "N",
    "slow serial lines down to N bits per second, 10 bits a byte",
    (value) => ({ lineSpeed: whole(value, 1) }),
  ),
  control: option(
    "PORT",
    "control API on 127.0.0.1; port 0 takes a free one, GET / explains it",
    (value) => ({ controlPort: whole(value, 0, PORT_MAX) }),
  ),
  "ready-file": option(
    "PATH",
    "write all endpoints as JSON to PATH once everything is open",
    (readyFile) => ({ readyFile }),
  ),
  state: option(
    "FILE",
    "keep ledger and turnover in FILE (SQLite); default in memory only",
    (stateFile) => ({ stateFile }),
  ),
};

/** Customer, bank and device. */
const world: Table = {
  instant: flag("no artificial delay at all, for benchmarks", ({ pace: given }) => ({
    pace: { ...instantPace, ...given },
  })),
  "customer-delay-ms": pace("customerMs", "until the customer presents a card"),
  "card-wait-ms": pace("cardWaitMs", "how long --customer manual is waited for"),
  "walk-away-ms": pace(
    "walkAwayMs",
    "how long the customer of amounts with 68 cents is waited for",
  ),
  "host-delay-ms": pace("hostMs", "the bank's answer"),
  "reversal-ms": pace("reversalMs", "automatic reversal"),
  "administration-ms": pace("administrationMs", "initialisation, diagnosis, end of day"),
  "reboot-ms": pace("rebootMs", "how long a restart takes"),
  outcome: behaviour(
    "RULE",
    "by-amount (default), approve, decline:CODE or customer-timeout",
    (value) => {
      const outcome = parseOutcomeRule(value);
      if (!outcome) throw new ValueError("right would be decline:05");
      return { outcome };
    },
  ),
  card: behaviour(
    "NAME",
    `the customer's card: ${cardNames.join(", ")}; default ${usual.card}`,
    (value) => ({ card: oneOf(value, cardNames) }),
  ),
  customer: behaviour(
    "WHO",
    "auto (default), or manual: the control API plays the customer",
    (value) => ({ customer: oneOf(value, ["auto", "manual"] as const) }),
  ),
  currency: behaviour(
    "LIST",
    "currencies the terminal takes, EUR,CHF for example; default EUR",
    (value) => ({ currencies: value.split(",").map(currencyNumber) }),
  ),
  language: behaviour("CODE", "texts of the display: de, en (default), fr", (value) => ({
    language: oneOf(value, ["de", "en", "fr"] as const),
  })),
  "terminal-id": device("DIGITS", `eight digits; default ${usualDevice.terminalId}`, (value) => ({
    terminalId: formed(value, /^\d{8}$/, usualDevice.terminalId),
  })),
  "serial-number": device(
    "DIGITS",
    `an even number of digits, at most 20; default ${usualDevice.serialNumber}`,
    (value) => ({ serialNumber: formed(value, /^(\d\d){1,10}$/, usualDevice.serialNumber) }),
  ),
  "contract-number": device(
    "TEXT",
    `the merchant's contract, at most 15 characters; default ${usualDevice.contractNumber}`,
    (value) => ({ contractNumber: formed(value, /^[ -~]{1,15}$/, "1234567890") }),
  ),
  password: device(
    "DIGITS",
    "six digits that commands must bring; default any will do",
    (value) => ({ password: formed(value, /^\d{6}$/, "000000") }),
  ),
  "first-receipt": behaviour("N", "first receipt number, 1 to 9999; default 1", (value) => ({
    firstReceiptNumber: whole(value, 1, 9_999),
  })),
  "first-trace": behaviour("N", "first trace number, 1 to 999999; default 1", (value) => ({
    firstTrace: whole(value, 1, 999_999),
  })),
  "clock-offset-ms": device(
    "N",
    "terminal clock ahead of ours (a negative value: --clock-offset-ms=-60000); default 0",
    (value) => ({ clockOffsetMs: Number(formed(value, /^-?\d{1,12}$/, "-60000")) }),
  ),
  "restart-at": behaviour(
    "HH:MM",
    "restart every day at this time and announce it; default never",
    (value) => ({ restartAt: formed(value, /^([01]\d|2[0-3]):[0-5]\d$/, "03:30") }),
  ),
};

/** Every switch that is not a protocol's own, in the order of `--help`. */
export function terminalSwitches(protocol: TerminalProtocol): Table {
  return {
    ...lines(protocol),
    ...files,
    ...world,
    fault: list(
      "FAULT",
      "arm a fault, see below; may be given again and again",
      (value, { faults }) => ({ faults: [...faults, parseFault(protocol.faults, value)] }),
    ),
    scenario: option(
      "FILE",
      "JSON file with faults and what the first payments shall be like",
      (value, draft) => {
        const { faults, payments } = readScenario(protocol.faults, value);
        return { faults: [...draft.faults, ...faults], payments };
      },
    ),
  };
}

/** Returns the four digits of a currency, from EUR or 978. */
function currencyNumber(text: string): string {
  const found = /^\d+$/.test(text)
    ? currencyOfNumber(text.padStart(3, "0"))
    : currencyOfCode(text.toUpperCase());
  if (!found) throw new ValueError("right would be EUR");
  return found.number.padStart(4, "0");
}

interface Scenario {
  readonly faults: readonly FaultRequest[];
  readonly payments: readonly PaymentScript[];
}

/** `"mute:at=report"`, or `{"name": "mute", "at": "report"}`. */
const faultOf = (table: FaultTable) =>
  z.union([z.string(), z.looseObject({ name: z.string() })]).transform((given, context) => {
    try {
      if (typeof given === "string") return parseFault(table, given);
      const { name, ...rest } = given;
      return faultRequest(table, name, rest);
    } catch (error) {
      if (!(error instanceof FaultError)) throw error;
      context.addIssue({ code: "custom", message: error.message });
      return z.NEVER;
    }
  });

const outcome = z.string().transform((text, context) => {
  const rule = parseOutcomeRule(text);
  if (rule) return rule;
  context.addIssue({
    code: "custom",
    message: "not by-amount, approve, decline:CODE or customer-timeout",
  });
  return z.NEVER;
});

const scenarioOf = (fault: ReturnType<typeof faultOf>) =>
  z.strictObject({
    faults: z.array(fault).default([]),
    payments: z
      .array(
        z.strictObject({
          outcome: outcome.optional(),
          card: z.enum(cardNames).optional(),
          customerMs: z.number().int().min(0).optional(),
          hostMs: z.number().int().min(0).optional(),
          faults: z.array(fault).optional(),
        }),
      )
      .default([]),
  });

/** Reads the JSON file of `--scenario`. Throws {@link ValueError}. */
function readScenario(table: FaultTable, path: string): Scenario {
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new ValueError(`cannot read ${path}: ${(error as Error).message}`, { cause: error });
  }
  const parsed = scenarioOf(faultOf(table)).safeParse(json);
  if (!parsed.success) throw new ValueError(`${path}: ${z.prettifyError(parsed.error)}`);
  return parsed.data as Scenario;
}
