import { describe, expect, test } from "vitest";
import { type AskKind, askKinds } from "../../../../src/simulator/terminal/zvt/options.ts";
import { linesOr } from "../../../support/run/scope.ts";
import {
  authorisation,
  bank,
  controls,
  REGISTRATION_WITHOUT_PRINT,
  STATUS,
  started,
} from "../support/started.ts";

/** Everything that can be asked is permitted by tag 26; no statuses, no receipts. */
const PERMITTING = "0600 1a 000000 36 0978 06 12 26 10 0a 0e 040e 040d 06e4 06d0 0401 06d8 06d3";

/** What the register answers by control field, else 80 00 00; and how the payment ends. */
interface Case {
  readonly ask: AskKind;
  readonly answers: readonly string[];
  readonly heard: readonly string[];
  readonly reported: object;
  readonly end: string;
}

const good = "060f00";
const paid = ["charge 1200 final"];
const chosen = (value: number) => `80000506031901${value.toString(16).padStart(2, "0")}`;

const cases: readonly Case[] = [
  { ask: "menu", answers: [chosen(2)], heard: ["040e"], reported: { chosen: 2 }, end: good },
  {
    ask: "menu",
    answers: ["846c00"],
    heard: ["040e"],
    reported: { answer: "846c" },
    end: "061e016c",
  },
  { ask: "menu", answers: ["848300"], heard: ["040e"], reported: { answer: "8483" }, end: good },
  {
    ask: "input",
    answers: ["80000a 0608 3206 1f3a03 313233"],
    heard: ["040d"],
    reported: { typedCharacters: 3 },
    end: good,
  },
  { ask: "input", answers: ["800000"], heard: ["040d"], reported: {}, end: "061e016c" },
  { ask: "input", answers: ["848300"], heard: ["040d"], reported: {}, end: good },
  { ask: "blocked-list", answers: ["800000"], heard: ["06e4"], reported: {}, end: good },
  {
    ask: "blocked-list",
    answers: ["846e00"],
    heard: ["06e4"],
    reported: { answer: "846e" },
    end: "061e016e",
  },
  {
    ask: "blocked-list",
    answers: ["849c00", "849c00", "800000"],
    heard: ["06e4", "06e4", "06e4"],
    reported: { answer: "8000" },
    end: good,
  },
  {
    ask: "signature",
    answers: ["800000", "800000", chosen(1)],
    heard: ["06d0", "06d0", "06d0"],
    reported: { chosen: 1 },
    end: good,
  },
  {
    ask: "signature",
    answers: ["800000", "800000", chosen(2)],
    heard: ["06d0", "06d0", "06d0"],
    reported: { chosen: 2 },
    end: "061e016c",
  },
  { ask: "signature", answers: ["848300"], heard: ["06d0"], reported: {}, end: good },
  { ask: "set-clock", answers: ["800000"], heard: ["0401"], reported: {}, end: good },
  { ask: "dial-up", answers: ["848300"], heard: ["06d8"], reported: { answer: "8483" }, end: good },
];

const rows = cases.flatMap((row, number) =>
  linesOr(number % 2 === 0 ? "pty" : "tcp").map((transport) => ({ ...row, transport })),
);

test.each(rows)("$ask over $transport, answered $answers: $end", async (row) => {
  const { ask, answers, heard, reported, end } = row;
  const { register, simulator } = await started(row.transport, { behaviour: { asks: [ask] } });
  await register.run(PERMITTING);
  const left = [...answers];
  const control = askKinds[ask].control.toString(16).padStart(4, "0");
  const messages = await register.run(authorisation(1200), (apdu) =>
    apdu.startsWith(control) ? (left.shift() ?? "800000") : "800000",
  );
  expect(controls(messages)).toEqual(["8000", ...heard, "040f", end.slice(0, 4)]);
  expect(messages.at(-1)).toBe(end);
  expect(simulator.terminal.parts.asked).toEqual([expect.objectContaining({ ...reported })]);
  expect(bank(simulator)).toEqual(end === good ? paid : []);
  if (end !== good) expect(messages.at(-2)).toMatch(new RegExp(`^040f..27${end.slice(-2)}`));
});

describe.each(linesOr("tcp"))("over %s", (transport) => {
  test("nothing is asked that tag 26 does not permit", async () => {
    const asks = Object.keys(askKinds) as AskKind[];
    const { register, simulator } = await started(transport, { behaviour: { asks } });
    await register.run(REGISTRATION_WITHOUT_PRINT.replace(" 3e ", " 36 "));
    expect(controls(await register.run(authorisation(1200)))).toEqual(["8000", "040f", "060f"]);
    expect(simulator.terminal.parts.asked.map(({ answer }) => answer)).toEqual(
      asks.map(() => "not permitted"),
    );
  });

  test("a question is asked once in the next status enquiry, by the control API", async () => {
    const { register, simulator } = await started(transport, { controlPort: 0 });
    await register.run(PERMITTING);
    await fetch(`${simulator.controlUrl}/ask`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ kind: "set-clock", in: "status" }),
    });
    expect(controls(await register.run(authorisation(1200)))).toEqual(["8000", "040f", "060f"]);
    const [, clock, end] = await register.run(STATUS);
    expect(clock).toMatch(/^040108aa\d{6}0c\d{6}$/);
    expect(end).toMatch(/^060f/);
    expect(controls(await register.run(STATUS))).toEqual(["8000", "060f"]);
  });

  test("a menu that nobody answers ends the payment without a charge", async () => {
    const { register, simulator } = await started(transport, {
      behaviour: { asks: ["menu"] },
      timers: { t3Ms: 200 },
      pace: { cardWaitMs: 100 },
    });
    await register.run(PERMITTING);
    register.send(authorisation(1200));
    expect(await register.nextApdu()).toBe("800000");
    expect(await register.nextApdu()).toMatch(/^040e/);
    expect(await register.nextApdu()).toMatch(/^040f..276c/);
    register.send("800000");
    expect(await register.nextApdu()).toBe("061e016c");
    register.send("800000");
    expect(bank(simulator)).toEqual([]);
  });
});
