import { cardNames } from "./bank/cards.ts";
import { parseOutcomeRule } from "./bank/outcome.ts";
import { parseFault } from "./faults/fault-request.ts";
import { defaultOptions, instantPace } from "./options.ts";
import { readScenario } from "./scenario.ts";
import {
  between,
  currencyNumber,
  milliseconds,
  oneOf,
  type Switch,
  serialOf,
  whole,
  wrong,
} from "./switch.ts";
import { behaviourOf, deviceNames } from "./zvt/devices/devices.ts";
import { quirkNames } from "./zvt/devices/quirks.ts";
import { askNames } from "./zvt/machine/ask-list.ts";

const { device, behaviour } = defaultOptions;

/** Every switch, in the order of `--help`. */
export const switches: Readonly<Record<string, Switch>> = {
  tcp: {
    argument: "HOST:PORT",
    description: "listen on TCP; default 127.0.0.1:20007, port 0 takes a free one",
    apply: (value, draft) => {
      const [, host = "", port] = /^(.+):(\d{1,5})$/.exec(value) ?? [];
      if (port === undefined || Number(port) > 65_535) throw wrong("tcp", value, "127.0.0.1:20007");
      draft.tcp = { host, port: Number(port) };
    },
  },
  "no-tcp": {
    description: "do not listen on TCP",
    apply: (_, draft) => {
      draft.tcp = null;
    },
  },
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
  serial: {
    argument: "PATH",
    description: "use a serial device, /dev/ttyUSB0 for example",
    apply: (value, draft) => {
      draft.serial = { ...serialOf(draft), path: value };
    },
  },
  "baud-rate": {
    argument: "N",
    description: "speed of --serial; default 9600",
    apply: (value, draft) => {
      draft.serial = { ...serialOf(draft), baudRate: whole("baud-rate", value, "9600") };
    },
  },
  "stop-bits": {
    argument: "N",
    description: "stop bits of --serial, 1 or 2; default 2",
    apply: (value, draft) => {
      if (value !== "1" && value !== "2") throw wrong("stop-bits", value, "2");
      draft.serial = { ...serialOf(draft), stopBits: value === "1" ? 1 : 2 };
    },
  },
  "line-speed": {
    argument: "N",
    description: "slow serial lines down to N bits per second, 10 bits a byte",
    apply: (value, draft) => {
      const speed = whole("line-speed", value, "9600");
      if (speed === 0) throw wrong("line-speed", value, "9600");
      draft.lineSpeed = speed;
    },
  },
  speeds: {
    argument: "LIST",
    description: "speeds that 08 40 can set; default 9600,19200,57600,115200",
    apply: (value, draft) => {
      const known = defaultOptions.speeds;
      draft.speeds = value.split(",").map((speed) => {
        if (!known.includes(Number(speed))) throw wrong("speeds", value, "9600,19200");
        return Number(speed);
      });
    },
  },
  control: {
    argument: "PORT",
    description: "control API on 127.0.0.1; port 0 takes a free one, GET / explains it",
    apply: (value, draft) => {
      draft.controlPort = whole("control", value, "8090");
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
  instant: {
    description: "no artificial delay at all, for benchmarks",
    apply: (_, draft) => {
      draft.pace = { ...instantPace, ...draft.pace };
    },
  },
  "customer-delay-ms": milliseconds(
    "customer-delay-ms",
    "pace",
    "customerMs",
    "until the customer presents a card",
  ),
  "card-wait-ms": milliseconds(
    "card-wait-ms",
    "pace",
    "cardWaitMs",
    "how long --customer manual is waited for",
  ),
  "walk-away-ms": milliseconds(
    "walk-away-ms",
    "pace",
    "walkAwayMs",
    "how long the customer of amounts with 68 cents is waited for",
  ),
  "host-delay-ms": milliseconds("host-delay-ms", "pace", "hostMs", "the bank's answer"),
  "reversal-ms": milliseconds("reversal-ms", "pace", "reversalMs", "automatic reversal"),
  "goods-pause-ms": milliseconds(
    "goods-pause-ms",
    "pace",
    "goodsPauseMs",
    "pause before 04 0F is repeated after 84 9C",
  ),
  "administration-ms": milliseconds(
    "administration-ms",
    "pace",
    "administrationMs",
    "initialisation, diagnosis, end of day",
  ),
  "reboot-ms": milliseconds("reboot-ms", "pace", "rebootMs", "how long a restart takes"),
  "speed-change-ms": milliseconds(
    "speed-change-ms",
    "pace",
    "speedChangeMs",
    "from the answer to 08 40 to the new speed",
  ),
  "t1-ms": milliseconds("t1-ms", "timers", "t1Ms", "T1, between two bytes of a frame"),
  "t2-ms": milliseconds("t2-ms", "timers", "t2Ms", "T2, from frame to ACK"),
  "t3-ms": milliseconds("t3-ms", "timers", "t3Ms", "T3, from message to answer"),
  "t4-ms": milliseconds(
    "t4-ms",
    "timers",
    "t4Ms",
    "T4, told to the register in 04 FF when it is whole minutes",
  ),
  outcome: {
    argument: "RULE",
    description: "by-amount (default), approve, decline:CODE or customer-timeout",
    apply: (value, draft) => {
      const rule = parseOutcomeRule(value);
      if (!rule) throw wrong("outcome", value, "decline:05");
      draft.behaviour.outcome = rule;
    },
  },
  card: {
    argument: "NAME",
    description: `the customer's card: ${cardNames.join(", ")}; default ${behaviour.card}`,
    apply: (value, draft) => {
      draft.behaviour.card = oneOf("card", value, cardNames);
    },
  },
  customer: {
    argument: "WHO",
    description: "auto (default), or manual: the control API plays the customer",
    apply: (value, draft) => {
      draft.behaviour.customer = oneOf("customer", value, ["auto", "manual"] as const);
    },
  },
  currency: {
    argument: "LIST",
    description: "currencies the terminal takes, EUR,CHF for example; default EUR",
    apply: (value, draft) => {
      draft.behaviour.currencies = value.split(",").map(currencyNumber);
    },
  },
  receipts: {
    argument: "WHICH",
    description: "copies printed by the register: both (default), customer, merchant",
    apply: (value, draft) => {
      draft.behaviour.receipts = oneOf("receipts", value, [
        "both",
        "customer",
        "merchant",
      ] as const);
    },
  },
  language: {
    argument: "CODE",
    description: "texts of the display: de, en (default), fr",
    apply: (value, draft) => {
      draft.behaviour.language = oneOf("language", value, ["de", "en", "fr"] as const);
    },
  },
  vending: {
    description: "say at registration that this is a vending machine's terminal",
    apply: (_, draft) => {
      draft.behaviour.vending = true;
    },
  },
  "no-auto-reversal": {
    description: "keep unacknowledged payments, as newer terminals do (implies --knows-1f1f)",
    apply: (_, draft) => {
      draft.behaviour.autoReversal = false;
    },
  },
  "hides-unacknowledged": {
    description: "Repeat Receipt leaves out what --no-auto-reversal keeps unacknowledged",
    apply: (_, draft) => {
      draft.behaviour.tellsUnacknowledged = false;
    },
  },
  "knows-1f1f": {
    description: "reverse what the register missed by its tag 1F1F",
    apply: (_, draft) => {
      draft.behaviour.receiptNumberCheck = true;
    },
  },
  "knows-1f73": {
    description: "number messages when the register asks for it (tag 1F73)",
    apply: (_, draft) => {
      draft.behaviour.messageIds = true;
    },
  },
  device: {
    argument: "NAME",
    description: "be a real terminal with what it does otherwise; see below",
    apply: (value, draft) => {
      const { quirks = [], ...behaviour } = behaviourOf(oneOf("device", value, deviceNames));
      draft.behaviour = { ...behaviour, ...draft.behaviour };
      draft.behaviour.quirks = [...quirks, ...(draft.behaviour.quirks ?? [])];
    },
  },
  quirk: {
    argument: "NAME",
    multiple: true,
    description: "do one thing as real terminals do it; see below",
    apply: (value, draft) => {
      const others = draft.behaviour.quirks ?? [];
      draft.behaviour.quirks = [...others, oneOf("quirk", value, quirkNames)];
    },
  },
  ask: {
    argument: "KIND",
    multiple: true,
    description: "ask the register in every payment, where it permits that; see below",
    apply: (value, draft) => {
      const asks = draft.behaviour.asks ?? [];
      draft.behaviour.asks = [...asks, oneOf("ask", value, askNames)];
    },
  },
  "require-registration": {
    description: "refuse payments with 84 6B until the register has registered",
    apply: (_, draft) => {
      draft.behaviour.registrationRequired = true;
    },
  },
  "terminal-id": {
    argument: "DIGITS",
    description: `eight digits; default ${device.terminalId}`,
    apply: (value, draft) => {
      if (!/^\d{8}$/.test(value)) throw wrong("terminal-id", value, device.terminalId);
      draft.device.terminalId = value;
    },
  },
  "serial-number": {
    argument: "DIGITS",
    description: `an even number of digits, at most 20; default ${device.serialNumber}`,
    apply: (value, draft) => {
      if (!/^(\d\d){1,10}$/.test(value)) throw wrong("serial-number", value, device.serialNumber);
      draft.device.serialNumber = value;
    },
  },
  "contract-number": {
    argument: "TEXT",
    description: `the merchant's contract, at most 15 characters; default ${device.contractNumber}`,
    apply: (value, draft) => {
      if (!/^[ -~]{1,15}$/.test(value)) throw wrong("contract-number", value, "1234567890");
      draft.device.contractNumber = value;
    },
  },
  password: {
    argument: "DIGITS",
    description: "six digits; commands with another one get 84 37; default any will do",
    apply: (value, draft) => {
      if (!/^\d{6}$/.test(value)) throw wrong("password", value, "000000");
      draft.device.password = value;
    },
  },
  "first-receipt": {
    argument: "N",
    description: "first receipt number, 1 to 9999; default 1",
    apply: (value, draft) => {
      draft.behaviour.firstReceiptNumber = between("first-receipt", value, 1, 9_999);
    },
  },
  "first-trace": {
    argument: "N",
    description: "first trace number, 1 to 999999; default 1",
    apply: (value, draft) => {
      draft.behaviour.firstTrace = between("first-trace", value, 1, 999_999);
    },
  },
  "clock-offset-ms": {
    argument: "N",
    description: "terminal clock ahead of ours (negative: behind); default 0",
    apply: (value, draft) => {
      if (!/^-?\d{1,12}$/.test(value)) throw wrong("clock-offset-ms", value, "-60000");
      draft.device.clockOffsetMs = Number(value);
    },
  },
  "restart-at": {
    argument: "HH:MM",
    description: "restart every day at this time and announce it; default never",
    apply: (value, draft) => {
      if (!/^([01]\d|2[0-3]):[0-5]\d$/.test(value)) throw wrong("restart-at", value, "03:30");
      draft.behaviour.restartAt = value;
    },
  },
  fault: {
    argument: "FAULT",
    multiple: true,
    description: "arm a fault, see below; may be given again and again",
    apply: (value, draft) => {
      draft.faults.push(parseFault(value));
    },
  },
  scenario: {
    argument: "FILE",
    description: "JSON file with faults and what the first payments shall be like",
    apply: (value, draft) => {
      const scenario = readScenario(value);
      draft.faults.push(...scenario.faults);
      draft.payments = scenario.payments;
    },
  },
  help: { description: "this text" },
};
