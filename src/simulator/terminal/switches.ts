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
import { type FaultTable, faultRequest, parseFault } from "./faults/fault-kinds.ts";
import type { TerminalProtocol } from "./machine.ts";
import {
  type Draft,
  type Group,
  instantPace,
  languages,
  type SerialDevice,
  type TerminalOptions,
} from "./options.ts";

type Table = SwitchTable<Draft<TerminalOptions>>;

/** Returns a function that makes switches, each of which sets one member of the options `group`. */
export function members<O extends TerminalOptions, G extends Group & keyof O>(
  group: G,
  { [group]: usual }: Omit<O, "clock">,
) {
  return <K extends keyof O[G]>(
    key: K,
    argument = "N",
    read: (value: string, before: Partial<O[G]>) => O[G][K] = (value) => whole(value) as O[G][K],
  ): Switch<Draft<O>> => {
    const change: Switch<Draft<O>>["change"] = (value, { [group]: before }) => {
      const changed = { [key]: read(value, before as Partial<O[G]>) };
      return { [group]: { ...(before as object), ...changed } } as Partial<Draft<O>>;
    };
    return option(argument, change, usual[key]);
  };
}

function lines({ defaults, serialLine }: TerminalProtocol): Table {
  const { host: usualHost, port: usualPort } = defaults.tcp ?? { host: "127.0.0.1", port: 0 };
  const usual = `${usualHost}:${usualPort}`;
  const none = { path: "", ...serialLine };
  const serial = (what: string, read: (value: string) => Partial<SerialDevice>, usual?: number) =>
    option<Draft<TerminalOptions>>(
      what,
      (value, { serial: before }) => ({ serial: { ...(before ?? none), ...read(value) } }),
      usual,
    );
  const stopBits = (value: string) => (oneOf(value, ["1", "2"]) === "1" ? 1 : 2);
  const tcp = (value: string) => {
    const [, host = "", port] = /^(.+):(\d{1,5})$/.exec(value) ?? [];
    if (port === undefined || Number(port) > PORT_MAX) {
      throw new ValueError(`a right value is ${usual}, for example`);
    }
    return { tcp: { host, port: Number(port) } };
  };
  return {
    tcp: option("HOST:PORT", tcp, usual),
    "no-tcp": flag(() => ({ tcp: null })),
    pty: flag(({ pty }) => ({ pty: { link: pty?.link ?? null } })),
    "pty-link": option("PATH", (link) => ({ pty: { link } })),
    serial: serial("PATH", (path) => ({ path })),
    "baud-rate": serial("N", (value) => ({ baudRate: whole(value, 1) }), none.baudRate),
    "stop-bits": serial("N", (value) => ({ stopBits: stopBits(value) }), none.stopBits),
  };
}

function others({ defaults, serialNumber }: TerminalProtocol): Table {
  const device = members<TerminalOptions, "device">("device", defaults);
  const behaviour = members<TerminalOptions, "behaviour">("behaviour", defaults);
  const pace = members<TerminalOptions, "pace">("pace", defaults);
  const { device: usualDevice, behaviour: usual } = defaults;
  return {
    "line-speed": option("N", (value) => ({ lineSpeed: whole(value, 1) })),
    control: option("PORT", (value) => ({ controlPort: whole(value, 0, PORT_MAX) })),
    "ready-file": option("PATH", (readyFile) => ({ readyFile })),
    state: option("FILE", (stateFile) => ({ stateFile })),
    instant: flag(({ pace: given }) => ({ pace: { ...instantPace, ...given } })),
    "customer-delay-ms": pace("customerMs"),
    "card-wait-ms": pace("cardWaitMs"),
    "walk-away-ms": pace("walkAwayMs"),
    "host-delay-ms": pace("hostMs"),
    "reversal-ms": pace("reversalMs"),
    "administration-ms": pace("administrationMs"),
    "reboot-ms": pace("rebootMs"),
    outcome: behaviour("outcome", "RULE", parseOutcomeRule),
    card: {
      ...behaviour("card", "NAME", (value) => oneOf(value, cardNames)),
      usual: `${cardNames.join(", ")}; default ${usual.card}`,
    },
    customer: behaviour("customer", "WHO", (value) => oneOf(value, ["auto", "manual"])),
    currency: behaviour("currencies", "LIST", (value) => value.split(",").map(currencyNumber)),
    language: behaviour("language", "CODE", (value) => oneOf(value, languages)),
    "terminal-id": device("terminalId", "DIGITS", formed(/^\d{8}$/, usualDevice.terminalId)),
    "serial-number": {
      ...device("serialNumber", "DIGITS", formed(serialNumber.form, usualDevice.serialNumber)),
      usual: `${serialNumber.says}; default ${usualDevice.serialNumber}`,
    },
    "contract-number": device("contractNumber", "TEXT", formed(/^[ -~]{1,15}$/, "1234567890")),
    password: device("password", "DIGITS", formed(/^\d{6}$/, "000000")),
    "first-receipt": behaviour("firstReceiptNumber", "N", (value) => whole(value, 1, 9_999)),
    "first-trace": behaviour("firstTrace", "N", (value) => whole(value, 1, 999_999)),
    "clock-offset-ms": device("clockOffsetMs", "N", (value) =>
      Number(formed(/^-?\d{1,12}$/, "-60000")(value)),
    ),
    "restart-at": behaviour("restartAt", "HH:MM", formed(/^([01]\d|2[0-3]):[0-5]\d$/, "03:30")),
  };
}

export function terminalSwitches(protocol: TerminalProtocol): Table {
  return {
    ...lines(protocol),
    ...others(protocol),
    fault: list("FAULT", (value, { faults }) => ({
      faults: [...faults, parseFault(protocol.faults, value)],
    })),
    scenario: option("FILE", (value, draft) => {
      const { faults, payments } = readScenario(protocol.faults, value);
      return { faults: [...draft.faults, ...faults], payments };
    }),
  };
}

/** Returns the four digits of a currency that is given as EUR or as 978. */
function currencyNumber(text: string): string {
  const found = /^\d+$/.test(text)
    ? currencyOfNumber(text.padStart(3, "0"))
    : currencyOfCode(text.toUpperCase());
  if (!found) throw new ValueError("a right value is EUR, for example");
  return found.number.padStart(4, "0");
}

function readBy<I, R>(schema: z.ZodType<I>, read: (value: I) => R) {
  return schema.transform((given, context): R => {
    try {
      return read(given);
    } catch (error) {
      if (!(error instanceof ValueError)) throw error;
      context.addIssue({ code: "custom", message: error.message });
      return z.NEVER;
    }
  });
}

/** Reads the JSON file of `--scenario`. Throws {@link ValueError}. */
function readScenario(table: FaultTable, path: string) {
  // A fault in a scenario is written as `"mute:at=report"` or `{"name": "mute", "at": "report"}`.
  const forms = z.union([z.string(), z.looseObject({ name: z.string() })]);
  const faults = z.array(
    readBy(forms, (given) => {
      if (typeof given === "string") return parseFault(table, given);
      const { name, ...rest } = given;
      return faultRequest(table, name, rest);
    }),
  );
  const payment = z.strictObject({
    outcome: readBy(z.string(), parseOutcomeRule).optional(),
    card: z.enum(cardNames).optional(),
    customerMs: z.number().int().min(0).optional(),
    hostMs: z.number().int().min(0).optional(),
    faults: faults.optional(),
  });
  const scenario = z.strictObject({
    faults: faults.default([]),
    payments: z.array(payment).default([]),
  });
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new ValueError(`cannot read ${path}: ${(error as Error).message}`, { cause: error });
  }
  const parsed = scenario.safeParse(json);
  if (!parsed.success) throw new ValueError(`${path}: ${z.prettifyError(parsed.error)}`);
  return parsed.data as Pick<TerminalOptions, "faults" | "payments">;
}
