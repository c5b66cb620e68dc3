import { describe, expect, test } from "vitest";
import {
  fixedFaultTable,
  taggedFaultTable,
} from "../../../../src/simulator/terminal/concert/faults.ts";
import { asSlow } from "../../../support/clocks/patience.ts";
import { isWhole } from "../../../support/run/scope.ts";
import {
  bank,
  fixedRequest,
  type Setting,
  settings,
  started,
  taggedRequest,
} from "./support/started.ts";

/** Between two things that belong together; every timer of the terminal is shorter. */
const QUIET_MS = asSlow(1_000);
/**
 * The times in which the register's bytes must have come, four times as long as they are by default
 * here: on a busy machine the bytes of a pseudo-terminal take longer than the terminal's timers,
 * which begin when the terminal has written.
 */
const timers = { answerMs: 600, sessionMs: 800, silenceMs: 400 };

/** One payment of 12.00 with a fault: what the register hears, and what the bank has. */
interface Case {
  readonly fault: string;
  readonly on: readonly Setting[];
  readonly heard: readonly string[];
  readonly charged: number;
  /** The fault may go on for ever. */
  readonly stays?: true;
}

const among = (isIncluded: (setting: Setting) => boolean): readonly Setting[] =>
  settings.filter(isIncluded);
const inSessions = among(({ sessions }) => sessions);
const fixed = among(({ family }) => family === "concert");
const tagged = among(({ family }) => family === "caisse-ap");
const taggedInSessions = among(({ family, sessions }) => family === "caisse-ap" && sessions);
const bare = among(({ sessions }) => !sessions);
const bareTcp = among(({ sessions, transport }) => !sessions && transport === "tcp");
const bareSerial = among(({ sessions, transport }) => !sessions && transport === "pty");
const tcp = among(({ transport }) => transport === "tcp");

/** On a pseudo-terminal that goes away, what was not yet read goes with it. */
const recorded = inSessions.filter(({ transport }) => transport === "tcp");
const unseen = inSessions.filter(({ transport }) => transport === "pty");
const taken = ["ack", "ack"];
const reported = (what: string): readonly string[] => [...taken, "enq", what, "eot"];
const charged = 1200;

const ofSessions: readonly Case[] = [
  { fault: "silent-enq", on: inSessions, heard: ["silence"], charged: 0 },
  { fault: "nak-enq", on: inSessions, heard: ["nak"], charged: 0 },
  { fault: "nak-frame", on: inSessions, heard: ["ack", "nak"], charged: 0 },
  { fault: "no-ack", on: fixed, heard: ["ack", "enq", "0 1200", "eot"], charged },
  { fault: "no-ack", on: taggedInSessions, heard: ["ack", "enq", "10 1200", "eot"], charged },
  { fault: "late-ack:ms=60", on: fixed, heard: reported("0 1200"), charged },
  { fault: "bad-check", on: fixed, heard: [...taken, "enq", "bad", "0 1200", "eot"], charged },
  {
    fault: "bad-check:times=4",
    on: fixed,
    heard: [...taken, "enq", ..."bad,bad,bad,bad,eot".split(",")],
    charged,
  },
  { fault: "no-eot", on: fixed, heard: [...taken, "enq", "0 1200"], charged },
  { fault: "parity:times=4", on: inSessions, heard: ["ack", "ack", "enq", "?"], charged },
  { fault: "half-reply", on: fixed, heard: [...taken, "enq"], charged },
  { fault: "split:ms=1", on: fixed, heard: reported("0 1200"), charged },
  { fault: "duplicate", on: fixed, heard: [...taken, "enq", "0 1200", "0 1200", "eot"], charged },
  { fault: "noise-before", on: fixed, heard: [...taken, "enq", "?", "0 1200", "eot"], charged },
  { fault: "noise-inside", on: fixed, heard: [...taken, "enq", "bad", "0 1200", "eot"], charged },
  { fault: "wrong-length", on: fixed, heard: reported("79 characters"), charged },
  { fault: "wrong-length:by=2", on: fixed, heard: reported("82 characters"), charged },
  { fault: "no-reply", on: inSessions, heard: taken, charged },
  { fault: "late-reply:ms=100", on: fixed, heard: reported("0 1200"), charged },
  { fault: "mute", on: inSessions, heard: taken, charged },
  { fault: "mute:at=reply", on: inSessions, heard: taken, charged },
  { fault: "unplug:at=charged", on: recorded, heard: [...taken, "closed"], charged },
  { fault: "unplug:at=charged", on: unseen, heard: ["closed"], charged },
  { fault: "unplug:at=accepted", on: recorded, heard: [...taken, "closed"], charged },
  { fault: "unplug:at=accepted", on: unseen, heard: ["closed"], charged },
  { fault: "reboot:at=card", on: recorded, heard: [...taken, "closed"], charged: 0 },
  { fault: "reboot:at=card", on: unseen, heard: ["closed"], charged: 0 },
  { fault: "reboot", on: recorded, heard: [...taken, "closed"], charged },
  { fault: "reboot", on: unseen, heard: ["closed"], charged },
  { fault: "hold:ms=50", on: fixed, heard: reported("0 1200"), charged },
  { fault: "refuse-connection", on: tcp, heard: ["closed"], charged: 0 },
];

const ofContents: readonly Case[] = [
  { fault: "other-amount", on: fixed, heard: reported("0 1201"), charged: 1201 },
  { fault: "other-amount:by=-1", on: taggedInSessions, heard: reported("10 1199"), charged: 1199 },
  { fault: "other-amount:by=-2000", on: fixed, heard: reported("0 1"), charged: 1 },
  { fault: "other-amount:by=-2000", on: taggedInSessions, heard: reported("10 01"), charged: 1 },
  {
    fault: "other-amount:by=99999999",
    on: fixed,
    heard: reported("0 99999999"),
    charged: 99_999_999,
  },
  { fault: "other-currency", on: fixed, heard: reported("0 1200 840"), charged },
  { fault: "other-currency", on: taggedInSessions, heard: reported("10 1200 840"), charged },
  { fault: "other-register", on: fixed, heard: reported("0 1200 register 99"), charged },
  {
    fault: "other-register",
    on: taggedInSessions,
    heard: reported("10 1200 register 99"),
    charged,
  },
  { fault: "other-private", on: fixed, heard: reported("0 1200 T99877"), charged },
  { fault: "other-private", on: taggedInSessions, heard: reported("10 1200 T99877"), charged },
  { fault: "report", on: fixed, heard: reported("0 1200 clear"), charged },
  { fault: "report:as=blank", on: fixed, heard: reported("0 1200 blank"), charged },
  { fault: "report", on: taggedInSessions, heard: reported("10 1200 clear"), charged },
  { fault: "report:as=blank", on: taggedInSessions, heard: reported("10 1200 blank"), charged },
  { fault: "status:as=7", on: fixed, heard: reported("7 1200 blank"), charged: 0 },
  { fault: "zero-amount", on: fixed, heard: reported("0 0"), charged },
  ...[..."1234568 9X".replace(" ", "")].map(
    (as): Case => ({ fault: `status:as=${as}`, on: fixed, heard: reported(`${as} 1200`), charged }),
  ),
];

/** The reasons of a refusal, tag AF (docs/concert.md 4.4). */
const reasons = Array.from({ length: 14 }, (_, i) => String(i).padStart(2, "0"));

const ofTags: readonly Case[] = [
  ...reasons.map(
    (af): Case => ({
      fault: `not-done:af=${af}`,
      on: tagged,
      heard: [`01 ${af} 1200 blank`],
      charged: 0,
    }),
  ),
  { fault: "not-done:af=none", on: tagged, heard: ["01 1200 blank"], charged: 0 },
  {
    fault: "taken-first",
    on: taggedInSessions,
    heard: [...reported("11 1200 blank"), "enq", "10 1200", "eot"],
    charged,
  },
  { fault: "taken-first", on: bareSerial, heard: ["11 1200 blank", "10 1200"], charged },
  { fault: "taken-first", on: bareTcp, heard: ["11 1200 blank", "10 1200", "closed"], charged },
  { fault: "taken-only", on: tagged, heard: ["11 1200 blank"], charged },
  { fault: "close:when=before", on: bareTcp, heard: ["closed"], charged },
  { fault: "close", on: bareTcp, heard: ["10 1200 cut", "closed"], charged },
  { fault: "left-open", on: bareTcp, heard: ["10 1200"], charged },
  { fault: "half-reply", on: bareSerial, heard: ["10 1200 cut"], charged },
  { fault: "split:ms=1", on: bareTcp, heard: ["10 1200", "closed"], charged },
  { fault: "wrong-length", on: bareTcp, heard: ["10 1200 cut", "closed"], charged },
  { fault: "no-reply", on: bareSerial, heard: [], charged },
  { fault: "no-reply", on: bareTcp, heard: ["closed"], charged },
  { fault: "late-reply:ms=50", on: bareTcp, heard: ["10 1200", "closed"], charged },
  { fault: "unplug", on: bare, heard: ["closed"], charged },
  { fault: "reboot", on: bare, heard: ["closed"], charged },
  { fault: "mute", on: bareSerial, heard: [], charged },
  { fault: "noise-before", on: bareSerial, heard: ["10 1200 cut", "10 1200"], charged },
  { fault: "noise-inside", on: bareSerial, heard: ["10 1200 cut"], charged },
  { fault: "padded-amount", on: tagged, heard: ["10 000000001200"], charged },
  { fault: "no-amount", on: tagged, heard: ["10"], charged },
  { fault: "no-echo", on: tagged, heard: ["10 currency none register none action none"], charged },
  { fault: "no-state", on: tagged, heard: ["1200"], charged },
  { fault: "odd-state", on: tagged, heard: ["99 1200"], charged },
  { fault: "done-with-reason", on: tagged, heard: ["10 09 1200"], charged },
  { fault: "other-action", on: tagged, heard: ["10 1200 action 1"], charged },
  { fault: "unknown-tags", on: tagged, heard: ["10 1200 QX ZY"], charged },
  { fault: "other-version", on: tagged, heard: ["10 1200 version 0301"], charged },
  { fault: "receipt", on: tagged, heard: ["10 1200 receipt"], charged },
];

/** What belongs to a case of tags, on a line that needs more than the message itself. */
function around({ heard, fault }: Case, { sessions, transport }: Setting): readonly string[] {
  if (heard.length !== 1 || !/^\d\d|^1200/.test(heard[0] ?? "") || fault === "left-open")
    return heard;
  if (sessions) return reported(heard[0] ?? "");
  return transport === "tcp" && !heard[0]?.endsWith("cut") ? [...heard, "closed"] : heard;
}

/** All settings of a case in the whole scope; elsewhere one of each family, in turn. */
function playedOn({ on }: Case, number: number): readonly Setting[] {
  if (isWhole) return on;
  return (["concert", "caisse-ap"] as const).flatMap((name) => {
    const own = on.filter(({ family }) => family === name);
    return own.slice(number % own.length, (number % own.length) + 1);
  });
}

describe.each([
  ["the dialogue", ofSessions],
  ["contents", ofContents],
  ["tags", ofTags],
] as const)("faults of %s", (_, cases) => {
  const rows = cases.flatMap((one, number) =>
    playedOn(one, number).map((setting) => ({ ...one, ...setting, setting })),
  );
  // Each waits for silence much longer than it works.
  const all = test.concurrent.for(rows);
  all("$fault on $transport, $family, sessions $sessions", async (row, { onTestFinished }) => {
    const faults = [row.fault];
    const { register, simulator } = await started(row.setting, { faults, timers }, onTestFinished);
    const exchange = await asked(register, row.setting);
    await simulator.terminal.idle();
    const heard = around(row, row.setting);
    expect(heard[0] === "closed" ? exchange.slice(-1) : exchange).toEqual(heard);
    expect(simulator.ledger.charged).toBe(row.charged);
    expect(simulator.faults.armed.map(({ struck }) => struck > 0)).not.toContain(false);
  });
});

test("a terminal that reads any body reads the amount where E has it", async () => {
  const strict = await started(fixed[0] as Setting);
  expect(await strict.register.ask("0100000012501109", QUIET_MS)).toEqual(["ack", "nak"]);
  const lax = await started(fixed[0] as Setting, {
    faults: ["any-body"],
    behaviour: { outcome: "approve" },
  });
  const exchange = await lax.register.ask("01001250110978000", QUIET_MS);
  expect(exchange[1]).toBe("ack");
  expect(bank(lax.simulator)).toEqual(["charge 125011"]);
});

test("every fault of both tables has a case here", () => {
  const all = [...ofSessions, ...ofContents, ...ofTags];
  for (const [table, family] of [
    [fixedFaultTable, "concert"],
    [taggedFaultTable, "caisse-ap"],
  ] as const) {
    const played = new Set(
      all.flatMap(({ fault, on }) =>
        on.some((one) => one.family === family) ? [fault.split(":")[0]] : [],
      ),
    );
    const missing = Object.keys(table.kinds).filter(
      (name) => !played.has(name) && name !== "any-body",
    );
    // The dialogue is the same for both.
    const same = Object.keys(fixedFaultTable.kinds).filter((name) =>
      Object.hasOwn(taggedFaultTable.kinds, name),
    );
    expect(missing.filter((name) => family === "concert" || !same.includes(name))).toEqual([]);
  }
});

test("no card number in clear is traced or kept", async () => {
  for (const setting of settings) {
    const { register, simulator } = await started(setting, { behaviour: { report: "clear" } });
    await asked(register, setting);
    const recorded = JSON.stringify([
      simulator.terminal.trace.last(1_000),
      simulator.ledger.entries,
    ]);
    expect(recorded).not.toMatch(/\d{11,}\d{4}/);
    expect(recorded).toContain("541333");
  }
});

type Register = Awaited<ReturnType<typeof started>>["register"];

async function asked(register: Register, { family, sessions }: Setting): Promise<string[]> {
  const body = family === "concert" ? fixedRequest(1200) : taggedRequest(1200);
  if (sessions) {
    const exchange = await register.ask(body, QUIET_MS);
    // What a register makes of a line with another parity does not matter here.
    const foreign = exchange.findIndex((one) => one.startsWith("?") && one !== "?4");
    const displayed = foreign < 0 ? exchange : exchange.slice(0, foreign + 1);
    const silent =
      displayed[1] === "silence" ? [displayed[0] ?? "", ...displayed.slice(2)] : displayed;
    return silent.map((one) => inShort(one));
  }
  register.say(body);
  const exchange = await register.rest(QUIET_MS);
  const text = exchange.filter((one) => one !== "closed").join("");
  const messages = text === "" ? [] : text.split(/(?<=.)(?=CZ004)/).map(tagsInShort);
  return [...messages, ...(exchange.includes("closed") ? ["closed"] : [])];
}

function inShort(heard: string): string {
  if (heard.startsWith("?")) return "?";
  if (!heard.startsWith(":")) return heard;
  return heard.startsWith(":CZ") ? tagsInShort(heard.slice(1)) : fixedInShort(heard.slice(1));
}

/** What differs from an ordinary reply of 80 characters. */
function fixedInShort(body: string): string {
  if (body.length !== 80) return `${body.length} characters`;
  const [, register, status, amount, report = "", currency, own = ""] =
    /^(..)(.)(\d{8}).(.{55})(...)(.{10})$/.exec(body) ?? [];
  return [
    `${status} ${Number(amount)}`,
    ...(report.trim() === "" ? ["blank"] : /^\d{16} /.test(report) ? ["clear"] : []),
    ...(currency === "978" ? [] : [currency]),
    ...(register === "01" ? [] : [`register ${register}`]),
    ...(own.trim() === "" ? [] : [own.trim()]),
  ].join(" ");
}

/** What differs from an ordinary answer, by its tags. */
function tagsInShort(text: string): string {
  const values = new Map<string, string>();
  let rest = text;
  for (let head = /^([A-Z]{2})(\d{3})/.exec(rest); head; head = /^([A-Z]{2})(\d{3})/.exec(rest)) {
    const value = rest.slice(5, 5 + Number(head[2]));
    if (value.length < Number(head[2])) break;
    values.set(String(head[1]), value);
    rest = rest.slice(5 + value.length);
  }
  const [state, pan] = [values.get("AE"), values.get("AA")];
  const differs = (tag: string, usual: string, label: string): string[] =>
    values.get(tag) === usual ? [] : [`${label}${values.get(tag) ?? "none"}`];
  if (rest !== "") return [state ?? "10", values.get("CB") ?? "1200", "cut"].join(" ");
  return [
    ...[state, values.get("AF"), values.get("CB")].flatMap((value) => value ?? []),
    ...(pan === undefined ? ["blank"] : /^\d{16}$/.test(pan) ? ["clear"] : []),
    ...differs("CE", "978", values.has("CE") ? "" : "currency "),
    ...differs("CA", "01", "register "),
    ...differs("CD", "0", "action "),
    ...differs("CZ", "0300", "version "),
    ...[values.get("CF")?.trim()].flatMap((value) => value ?? []),
    ...["QX", "ZY"].filter((tag) => values.has(tag)),
    ...(values.get("ZT")?.includes("\n") ? ["receipt"] : []),
  ].join(" ");
}
