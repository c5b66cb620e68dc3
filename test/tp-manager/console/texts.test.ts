import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { supervisorAlarms, tpManagerAlarms } from "../../../src/shared/catalog/alarms.ts";
import { conditionTable, KEEPS_PAYMENTS } from "../../../src/shared/catalog/conditions.ts";
import { errorTable } from "../../../src/shared/catalog/errors.ts";
import { findingTable } from "../../../src/shared/catalog/findings.ts";
import { sharedFields } from "../../../src/shared/config/schema.ts";
import { sendingStepFields } from "../../../src/shared/ipc/contract.ts";
import { projectRoot } from "../../../src/shared/version-files.ts";
import { acknowledgedKinds } from "../../../src/tp-manager/attempts/findings.ts";
import { englishTexts } from "../../../src/tp-manager/console/english-texts.ts";
// @ts-expect-error: the pages' JavaScript is checked by tsconfig.pages.json
import * as entryTexts from "../../../src/tp-manager/console/pages/maintenance/entry-texts.js";
// @ts-expect-error: the pages' JavaScript is checked by tsconfig.pages.json
import * as pageTexts from "../../../src/tp-manager/console/pages/texts.js";
// @ts-expect-error: the pages' JavaScript is checked by tsconfig.pages.json
import * as stepTexts from "../../../src/tp-manager/console/pages/views/step-texts.js";
import { health } from "../../../src/tp-manager/http/openapi/installation.ts";
import { warningNames } from "../../../src/tp-manager/orders/answer.ts";
import { protocolPart } from "../../../src/tp-manager/terminal/registry.ts";

type Texts = Readonly<Record<string, string>>;
const textsOf = (name: string): Texts =>
  JSON.parse(
    readFileSync(join(projectRoot, `src/tp-manager/console/pages/texts/${name}.json`), "utf8"),
  );
const allOf = (language: string): Texts => ({
  ...textsOf(language),
  ...textsOf(`payments-${language}`),
  ...textsOf(`doctor-${language}`),
});
const { actionText, endText } = entryTexts;
const parts = ["", "payments-", "doctor-"].map(englishTexts);
const base: Texts = Object.assign(allOf("en"), ...parts);
const languages: readonly string[] = Object.keys(pageTexts.languages);
const otherLanguages = languages.filter((language) => language !== "en");
const others = otherLanguages.map((language) => [language, allOf(language)] as const);

const valuesIn = (text = ""): string[] => [...text.matchAll(/\{\w+\}/g)].map(String).sort();

test("an English sentence of the shared catalogues stands in no file of the console", () => {
  const ofCodes = Object.keys(allOf("en")).filter((key) =>
    /^(error|todo|condition|note|finding)\./.test(key),
  );
  expect(ofCodes).toEqual(["error.other"]);
});

test.each(others)("a text in %s is given the same values as the English one", (_name, texts) => {
  expect(Object.keys(texts).sort()).toEqual(Object.keys(base).sort());
  const wrong = Object.keys(base).filter(
    (key) => valuesIn(texts[key]).join() !== valuesIn(base[key]).join() || texts[key] === "",
  );
  expect(wrong).toEqual([]);
});

/** The verb of "acknowledge", which an operator meets on a button and in what to do. */
const acknowledge = new Map([
  ["de", /quittier/i],
  ["fr", /acquitt/i],
  ["it", /riconosc/i],
  ["es", /recono[cz]/i],
]);

test.each(others)("%s has one verb for what an operator acknowledges", (language, texts) => {
  const keys = Object.keys(base).filter((key) => /acknowledg/i.test(base[key] ?? ""));
  expect(keys).toContain("condition.differences.todo");
  expect(keys.filter((key) => !acknowledge.get(language)?.test(texts[key] ?? ""))).toEqual([]);
});

/** What a program gets wrong: a person at the console never meets it. */
const forPrograms = [
  "BODY_NOT_JSON",
  "HOST_REFUSED",
  "ORIGIN_REFUSED",
  "NOT_FOUND",
  "METHOD_NOT_ALLOWED",
  "REQUEST_TOO_SLOW",
  "ANSWER_NOT_DELIVERED",
  "BODY_TOO_LARGE",
  "CONTENT_TYPE_REFUSED",
  "ORDER_MISMATCH",
  "CURRENCY_REFUSED",
  "TOO_MANY_FAILURES",
  "HEADERS_TOO_LARGE",
  "TOO_MANY_READERS",
];

test("every code that the connector sends has the page's own sentence in each language", () => {
  const lasting = new Map<string, { name: string; check: string }>(
    Object.entries(conditionTable).map(([name, { alarm, check }]) => [alarm, { name, check }]),
  );
  const keys = [
    ...Object.keys(errorTable)
      .filter((code) => !forPrograms.includes(code))
      .map((code) => `error.${code}`),
    ...health.shape.notes.element.shape.note.options.map((note) => `note.${note}`),
    ...sendingStepFields.step.options
      .filter((step) => step !== "try")
      .map((step) => `timeline.sending.${step}`),
    ...sendingStepFields.outcome.unwrap().options.map((end) => `timeline.sending.try.${end}`),
    ...warningNames.filter((name) => name !== "stored").map((name) => `warning.${name}`),
    ...Object.entries(conditionTable)
      .filter(([, { check }]) => check !== KEEPS_PAYMENTS)
      .flatMap(([name]) => [`condition.${name}`, `condition.${name}.todo`]),
    ...[...tpManagerAlarms, ...supervisorAlarms]
      .filter((alarm) => !lasting.has(alarm))
      .map((alarm) => `alarm.${alarm}`),
  ];
  const without = ([language, texts]: readonly [string, Texts]) =>
    keys.filter((key) => !texts[key]).map((key) => `${language} ${key}`);
  const folder = "src/tp-manager/console/pages/texts";
  const missing = [["English", base] as const, ...others].flatMap(without);
  expect(missing, `texts that ${folder}/{${languages}}.json have to hold`).toEqual([]);
});

test("an audit entry is shown as a sentence, however little was kept of the call", () => {
  const said = (call: string, body: object | string | null): string => {
    const text = typeof body === "string" ? body : body && JSON.stringify(body);
    const textOf = (key: string, values: Record<string, unknown> = {}) =>
      base[key]?.replace(/\{(\w+)\}/g, (_, name) => String(values[name])) ?? key;
    const english = Object.assign(textOf, { language: "en" });
    return actionText({ call: `POST ${call}`, body: text }, english);
  };
  const other = base["audit.other"];
  expect(said("/gateway/refund", { orderId: "A-1", amount: 4.5 })).toBe(
    "Order A-1: refund 4.5 at the gateway",
  );
  expect(said("/payment/A%2F1/settle", { outcome: "not_charged", note: "seen" })).toBe(
    "Order A/1: say that nothing was charged",
  );
  expect(said("/update/hold", { until: "2026-11-30", by: "Anna" })).toMatch(
    /until (30 November|November 30,) 2026$/,
  );
  for (const kind of acknowledgedKinds) {
    expect(said("/seen", { kind, items: ["A-1"] })).toMatch(/^Acknowledge: .*(A-1|\(1\))$/);
  }
  const former = { kind: "stray", items: ["1"] };
  expect(said("/seen", former)).toBe(said("/seen", { ...former, kind: "unmatched" }));
  const updates = ["/update/check", "/update/unhold"];
  const plain = ["/terminal/accept", "/reset", "/tlc", "/backup", ...updates];
  const moved = ["confirm", "cancel", "refund", "settle", "copies"].map((it) => `/gateway/${it}`);
  const of = ["/reversal", "/outbox/X-1/requeue", "/outbox/X-1/drop"];
  for (const call of [...plain, ...moved, ...of])
    expect([call, said(call, {})]).not.toEqual([call, other]);
  expect([said("/payment/A-1/settle", '{"outcome":'), said("/other", null)]).toEqual([
    other,
    other,
  ]);
});

test.each([["English", base] as const, ...others])(
  "the outcome of an action is shown as a sentence, in %s",
  (_name, texts) => {
    const textOf = (key: string, values: Record<string, unknown> = {}) =>
      texts[key]?.replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole)) ?? key;
    const said = (http: number | null, code: string | null) =>
      endText({ http, code }, textOf, (name: string) => textOf(`error.${name}`));
    const refused = said(409, "NOTHING_TO_SETTLE");
    expect(refused).toContain(texts["error.NOTHING_TO_SETTLE"]);
    expect(refused).toContain("(NOTHING_TO_SETTLE)");
    // Nobody knows whether the action was done, so no text may say that it was refused.
    const first = String(refused.split(" ")[0]?.replace(":", ""));
    const unknown = said(504, "PAYMENT_UNKNOWN");
    expect(unknown).toContain(texts["error.PAYMENT_UNKNOWN"]);
    expect([unknown.includes(first), said(409, null)]).toEqual([false, `${first} (409)`]);
    expect(said(504, null)).toMatch(/ \(504\)$/);
    expect([said(200, null), said(null, null)]).toEqual([texts["audit.done"], texts["audit.open"]]);
  },
);

test("a step of a terminal that is asked by id says what it answered", () => {
  const said = (event: object) => stepTexts.sentenceOf(event, "EUR", (key: string) => key).text;
  const observation = { recalled: { kind: "answered" } };
  for (const [event, sentence] of [
    [{ kind: "end-lost", code: "requested" }, "reversal-received"],
    [{ kind: "end-lost", code: "no-answer" }, "end-lost"],
    [{ kind: "recovery-requested", observation }, "reversal-received"],
    [{ kind: "recovery-look", observation }, "recalled.not-told"],
    [{ kind: "recovery-look", observation: {} }, "recovery-look"],
    [
      { kind: "recovery-not-reversed", because: "the gateway says that it is done" },
      "reversal-returned",
    ],
    [
      { kind: "recovery-not-reversed", because: "the storage is the same" },
      "recovery-not-reversed",
    ],
    [{ kind: "recovery-charged", observation }, "recalled-charged"],
    [{ kind: "recovery-not-charged", observation }, "recalled-not-charged"],
    [{ kind: "recovery-not-charged", observation: {} }, "recovery-not-charged"],
  ] as const) {
    expect(said(event)).toBe(`timeline.step.${sentence}`);
    expect(base).toHaveProperty([`timeline.step.${sentence}`]);
  }
});

test.each([
  ["payment", []],
  ["reversal", [{ kind: "reversal-begins" }]],
])("a question by id about a %s is no question about the last transaction", (command, before) => {
  const said = (event: object) => {
    const textOf = (key: string) => base[key] ?? key;
    return stepTexts.sentencesOf([...before, event], "EUR", textOf).at(-1).text;
  };
  const asked = (kind: string) =>
    said({ kind: "recovery-look", observation: { recalled: { kind } } });
  expect(asked("running")).toMatch(
    new RegExp(`^The terminal still carries (this|the) ${command} out`),
  );
  expect(asked("not-found")).toMatch(
    new RegExp(`^The terminal does not know (this|the) ${command}`),
  );
  expect(asked("not-told")).toMatch(/answered something else/);
  expect(asked("unanswered")).toMatch(/gave no answer/);
  const what = command === "payment" ? "the order was charged" : "the money went back";
  expect(said({ kind: "recovery-unsettled" })).toMatch(new RegExp(`whether ${what}\\.$`));
});

test.each([
  ["interrupted", /while the (payment|reversal) was running\.$/],
  ["end-not-sent", /so (nothing was charged|it gave no money back)\.$/],
  [
    "end-withdrawn",
    /before (the terminal asked for a card|it was sent, so it gave no money back)\.$/,
  ],
  ["closed-while-in-doubt", /whether (the order was charged|the money went back)\.$/],
])("the step %s has a sentence of its own about a reversal", (kind, sentence) => {
  const textOf = (key: string) => base[key] ?? key;
  const events = [{ kind }, { kind: "reversal-begins" }, { kind }];
  const [ofPayment, , ofReversal] = stepTexts.sentencesOf(events, "EUR", textOf);
  expect(ofPayment.text).toMatch(sentence);
  expect(ofReversal.text).toMatch(sentence);
  expect(ofReversal.text).not.toBe(ofPayment.text);
});

const findings = Object.entries(findingTable);

test("the texts of a finding name each of its values, and no other", () => {
  const named = findings.map(([code, { check, says, more = "", todo = "" }]) => [
    code,
    [...new Set(valuesIn(check + says + more + todo))].sort(),
  ]);
  const given = findings.map(([code, { names }]) => [code, names.map((one) => `{${one}}`).sort()]);
  expect(given).toEqual(named);
});

test("every finding of the doctor has the page's own sentence and advice in each language", () => {
  const checks = [
    ...findings.map(([, { check }]) => check),
    ...Object.values(conditionTable).map(({ check }) => check),
  ];
  const keys = [
    ...findings.flatMap(([code, { todo }]) =>
      todo ? [`finding.${code}`, `finding.${code}.todo`] : [`finding.${code}`],
    ),
    ...checks.filter((check) => check !== "{program}").map((check) => `doctor.of.${check}`),
  ];
  for (const texts of [base, ...others.map(([, own]) => own)]) {
    expect(keys.filter((key) => !texts[key])).toEqual([]);
    const known = Object.keys(texts).filter((key) => key.startsWith("finding."));
    expect(known.filter((key) => !keys.includes(key))).toEqual([]);
  }
});

test("a sentence about a finding names only its values, and the page's buttons", () => {
  const buttons = ["{check}", "{settings}", "{update}", "{unhold}", "{inDoubt}"];
  const wrong = findings.flatMap(([code, { check, says, more = "", todo = "" }]) => {
    const command = /\.\/(launch|always-up)\.sh/.test(todo) ? ["{command}"] : [];
    const values = [...valuesIn(check + says + more + todo), ...command];
    const isKnown = (value: string, among: readonly string[]) => among.includes(value);
    return [
      ...valuesIn(base[`finding.${code}`]).filter((value) => !isKnown(value, values)),
      ...valuesIn(base[`finding.${code}.todo`]).filter(
        (value) => !isKnown(value, [...values, ...buttons]),
      ),
    ].map((value) => `${code} ${value}`);
  });
  expect(wrong).toEqual([]);
});

test("what the doctor says and the conditions say are sentences", () => {
  const rows = [...Object.values(findingTable), ...Object.values(conditionTable)];
  const sentences = rows.flatMap(({ says, todo = "{none}" }) => [says, todo]);
  const begun = /^(\p{Lu}|\{|tp-manager |\.\/launch\.sh )/u;
  expect(sentences.filter((sentence) => !begun.test(sentence))).toEqual([]);
});

test("every language has the help of every name of the setup file", () => {
  const names = Object.keys({ ...sharedFields, ...protocolPart.fields });
  const expected = names.map((name) => `setting.${name}`).sort();
  for (const texts of otherLanguages.map((language) => textsOf(`settings-${language}`))) {
    expect(Object.keys(texts).sort()).toEqual(expected);
    expect(Object.values(texts).filter((text) => text === "")).toEqual([]);
  }
});

test("no text asks a person to send an HTTP request", () => {
  const asks = [base, ...others.map(([, texts]) => texts)].flatMap((texts) =>
    Object.values(texts).filter((text) => /\b(GET|POST|HTTP) \/?|\bHTTP\b/.test(text)),
  );
  expect(asks).toEqual([]);
});
