/**
 * Writes the generated parts of the books: the tables of settings and of members from their
 * schemas, of calls from their records, of phases, events, errors, metrics and conditions.
 * `npm run readme` writes, the tidy test compares.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { z } from "zod";
import {
  type CustomerMessageName,
  customerLanguages,
  customerMessageName,
  customerMessages,
} from "../src/client/customer-messages.ts";
import { conditionNames, conditionTable } from "../src/shared/catalog/conditions.ts";
import { type ErrorCode, errorTable } from "../src/shared/catalog/errors.ts";
import { findingTable, printedText } from "../src/shared/catalog/findings.ts";
import { metaOf } from "../src/shared/config/config-field.ts";
import { sharedParts } from "../src/shared/config/schema.ts";
import { exitCodes } from "../src/shared/process/exit-codes.ts";
import { projectRoot } from "../src/shared/version-files.ts";
import { type FaultRow, faultTable } from "../src/supervisor/gateway/fault-table.ts";
import { eventTable, isKept } from "../src/tp-manager/attempts/event-table.ts";
import { phaseTable, variantTable } from "../src/tp-manager/attempts/phase-table.ts";
import { calls } from "../src/tp-manager/http/calls/calls.ts";
import { openApiDocument, textsOf, textsOfEvent } from "../src/tp-manager/http/openapi/document.ts";
import {
  assumptionNames,
  assumptionTable,
  assumptionTexts,
  families,
} from "../src/tp-manager/matching/assumptions.ts";
import { byIdTable } from "../src/tp-manager/matching/by-id.ts";
import type { EvidenceRow } from "../src/tp-manager/matching/evidence-row.ts";
import { evidenceTable } from "../src/tp-manager/matching/table.ts";
import { protocolPart } from "../src/tp-manager/terminal/registry.ts";
import { mutations } from "../test/crash/mutations.ts";
import { pathsIn } from "../test/tidy/citations.ts";
import { choicesOf } from "./config-choices.ts";
import { metricsForReference } from "./metrics-reference.ts";
import { orderRows } from "./order-reference.ts";

/** The generated parts of each page, by name. */
const partsOf: Readonly<Record<string, Readonly<Record<string, () => string | Promise<string>>>>> =
  {
    "docs/reference.md": {
      calls: callTable,
      members,
      errors,
      "customer messages": messages,
      events,
      configuration,
      metrics,
      findings,
    },
    "docs/operator.md": { conditions },
    "docs/design.md": { phases, "exit codes": exits, "order fields": order },
    "docs/matching.md": { evidence, "evidence by id": evidenceById, assumptions },
    "docs/rules/README.md": { built: ruleLocations },
    "src/supervisor/README.md": { faults },
  };

/** The paths, from the root of the repository, of pages with generated parts. */
export const generatedPages: readonly string[] = Object.keys(partsOf);

/** Returns the text of a page with its generated parts made again. */
export async function withGeneratedParts(page: string, text: string): Promise<string> {
  let made = text;
  for (const [name, part] of Object.entries(partsOf[page] ?? {})) {
    made = replacePart(made, name, await part());
  }
  return made;
}

function replacePart(text: string, name: string, content: string): string {
  const begin = `<!-- ${name}: made by "npm run readme" -->`;
  const end = `<!-- ${name}: end -->`;
  const from = text.indexOf(begin);
  const to = text.indexOf(end);
  if (from < 0 || to < from) throw new Error(`there is no part "${name}"`);
  return `${text.slice(0, from + begin.length)}\n\n${content}\n${text.slice(to)}`;
}

function evidence(): string {
  return evidenceOf(evidenceTable, ["sale", "reversal", "unmatched"]);
}

function evidenceById(): string {
  return evidenceOf(byIdTable, ["sale", "reversal"]);
}

/** Returns a decision table with these columns. */
function evidenceOf(
  all: readonly EvidenceRow[],
  columns: ReadonlyArray<"sale" | "reversal" | "unmatched">,
): string {
  const rows = all.map((row) => [
    row.because.replaceAll(/\{(\w+)\}/g, "…"),
    ...columns.map((column) => row[column] ?? "–"),
    row.assumes?.map((name) => `\`${name}\``).join(", ") || "–",
  ]);
  const heads = {
    sale: "Sale in doubt",
    reversal: "Reversal in doubt",
    unmatched: "Unmatched",
  };
  return table(["Because", ...columns.map((each) => heads[each]), "Taken for granted"], rows);
}

/**
 * Returns a row for each rule: the files that its page names, then all others that cite the page or
 * have a safety measure of the rule.
 */
function ruleLocations(): string {
  const pages = globSync("docs/rules/[0-9]*.md", { cwd: projectRoot }).sort();
  const textIn = (path: string): string => readFileSync(join(projectRoot, path), "utf8");
  const all = globSync("{src,test}/**/*.ts", { cwd: projectRoot });
  // The tests of citations show names of pages only as samples.
  const sources = all.filter((path) => !path.startsWith("test/tidy/"));
  const texts = new Map(sources.map((path) => [path, textIn(path)]));
  const rows = pages.map((page) => {
    const name = basename(page, ".md");
    const named = pathsIn(textIn(page).split("\n## Where ")[1] ?? "");
    const measures = mutations.filter(({ breaks: [section] }) => section === name);
    const citing = sources.filter((path) => texts.get(path)?.includes(page));
    const measured = measures.flatMap(({ edits, tests }) =>
      edits.map(({ file }) => file).concat(tests),
    );
    const others = [...citing, ...measured].filter((path) => !named.includes(path));
    const inSrc = named.filter((path) => path.startsWith("src/"));
    const inTest = named.filter((path) => path.startsWith("test/"));
    return [`[${name}](${name}.md)`, ...[inSrc, inTest, others.sort()].map(listOf)];
  });
  return table(["Rule", "Implemented in", "Proved by", "Also in"], rows);
}

function listOf(paths: readonly string[]): string {
  return [...new Set(paths)].map((path) => `\`${path}\``).join(", ") || "–";
}

function assumptions(): string {
  const rows = assumptionNames.map((name) => {
    const { says, breaks, noticed, switchedBy } = assumptionTexts[name];
    const defaults = families.map((family) => assumptionTable[name][family].replace("none", "–"));
    return [`\`${name}\``, says, breaks, noticed, switchedBy ?? "–", ...defaults];
  });
  const heads = ["Name", "We take for granted that", "Where it does not hold", "Noticed by"];
  return table([...heads, "Switched by", "ZVT", "Concert and Caisse-AP", "nexo"], rows);
}

function configuration(): string {
  return [...sharedParts, protocolPart]
    .map(({ title, fields }) => {
      const rows = Object.entries(fields).map(([name, schema]) => {
        const { help, example } = metaOf(schema);
        const values = choicesOf(schema) ?? [example];
        const given = values.map((value) => `\`${value}\``).join(", ");
        return [`\`${name}\``, defaultOf(schema), help, given];
      });
      const heads = ["Name", "Default", "Meaning", "Example, or all values"];
      return `**${title}**\n\n${table(heads, rows)}`;
    })
    .join("\n");
}

/** Returns the default as the file has it; "required" if a program does not start without. */
function defaultOf(schema: z.ZodType): string {
  const { requiredBy } = metaOf(schema);
  if (requiredBy) return `required by ${requiredBy.join(" and ")}`;
  const value = schema.safeParse(undefined).data;
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return "none";
  if (typeof value === "boolean") return value ? "`yes`" : "`no`";
  return `\`${String(value)}\``;
}

const who = { operator: "operator", "own-operator": "operator only" };

function callTable(): string {
  const rows = calls.map((record) => {
    const { methods, path, alias, formerPath, role, query } = record;
    const { summary, description } = textsOf(record);
    const names = Object.keys((query as z.ZodObject | undefined)?.shape ?? {});
    const asked = names.length > 0 ? `?${names.map((name) => `${name}=`).join("&")}` : "";
    const verbs = methods
      .map((method) => `\`${method}\``)
      .join(" or ")
      .slice(0, -1);
    const also = [
      ...(alias === undefined ? [] : [` or \`${methods.join("")} ${alias}\``]),
      ...(formerPath === undefined ? [] : [` (formerly \`${formerPath}\`)`]),
    ].join("");
    const does = [summary, description].filter(Boolean).join(". ");
    return [`${verbs} ${path}${asked}\`${also}`, role ? who[role] : "", does];
  });
  return table(["Call", "Who", "Does"], rows);
}

/** What the generator reads of a schema in the OpenAPI document. */
interface Schema {
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly $ref?: string;
  readonly items?: Schema;
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly required?: readonly string[];
  readonly description?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
}

/** The schemas whose members the reference lists, by their names in the OpenAPI document. */
const listedSchemas: Readonly<Record<string, string>> = {
  PaymentRequest: "The request",
  CartObject: "`CartObject`, a line of the basket",
  Customer: "`Customer`",
  PaymentAnswer: "The answer about an attempt",
};

function members(): string {
  const { components } = openApiDocument() as {
    components: { schemas: Readonly<Record<string, Schema>> };
  };
  return Object.entries(listedSchemas)
    .map(([name, title]) => {
      const { properties = {}, required = [] } = components.schemas[name] ?? {};
      const rows = Object.entries(properties).map(([member, schema]) => [
        `\`${member}\``,
        typeIn(schema, components.schemas),
        required.includes(member) ? "yes" : "",
        textIn(schema),
      ]);
      return `**${title}**\n\n${table(["Member", "Type", "Always there", "Meaning"], rows)}`;
    })
    .join("\n");
}

/** Returns the type with its limits; a schema with members is named, any other is spelt out. */
function typeIn(schema: Schema, schemas: Readonly<Record<string, Schema>>): string {
  const { anyOf, $ref, items, properties, additionalProperties, type = "any" } = schema;
  const inner = (one: Schema): string => {
    const text = typeIn(one, schemas);
    return text.includes(" or ") ? `(${text})` : text;
  };
  if ($ref) {
    const name = basename($ref);
    const target = schemas[name] ?? {};
    const isNamed = target.properties !== undefined || name === "OutcomeError";
    return isNamed ? `\`${name}\`` : typeIn(target, schemas);
  }
  if (anyOf) return anyOf.map((one) => typeIn(one, schemas)).join(" or ");
  if (schema.enum) return schema.enum.map((value) => `\`${value}\``).join(", ");
  if (items) return `list of ${inner(items)}`;
  if (properties) {
    const has = Object.entries(properties).map(([name, one]) => `\`${name}\`: ${inner(one)}`);
    return `object with ${has.join(", ")}`;
  }
  if (typeof additionalProperties === "object") return `object of ${inner(additionalProperties)}`;
  const limits = limitsOf(schema);
  return [[type].flat().join(" or "), limits && `(${limits})`].filter(Boolean).join(" ");
}

function limitsOf(schema: Schema): string {
  const { minLength = 0, maxLength, minimum, exclusiveMinimum, maximum } = schema;
  const characters = minLength === maxLength ? maxLength : `${minLength} to ${maxLength}`;
  const isSet = (limit?: number): boolean =>
    limit !== undefined && Math.abs(limit) !== Number.MAX_SAFE_INTEGER;
  return [
    isSet(maxLength) ? `${characters} characters` : "",
    isSet(exclusiveMinimum) ? `more than ${exclusiveMinimum}` : "",
    isSet(minimum) ? `at least ${minimum}` : "",
    isSet(maximum) ? `at most ${maximum}` : "",
  ]
    .filter(Boolean)
    .join(", ");
}

function textIn({ description, anyOf = [] }: Schema): string {
  const text = description ?? anyOf.find((one) => one.description)?.description ?? "";
  return text.replaceAll("|", "\\|");
}

function phases(): string {
  const columns = Object.keys(phaseTable.sent) as (keyof typeof phaseTable.sent)[];
  const ofPhases = Object.entries(phaseTable).map(([phase, row]) => [`\`${phase}\``, row] as const);
  const ofVariants = Object.entries(variantTable).map(
    ([name, { of, ...changed }]) =>
      [`\`${of}\`, ${name.replaceAll("-", " ")}`, { ...phaseTable[of], ...changed }] as const,
  );
  const rows = [...ofPhases, ...ofVariants].map(([name, row]) => [
    name,
    ...columns.map((column) => phaseCell(row[column])),
  ]);
  const heads = ["Phase", "`charged`", "Status", "Repeat", "Reversal", "Gateway", "Settle", "Open"];
  return table([...heads, "Archive"], rows);
}

function phaseCell(value: string | null | readonly string[]): string {
  if (value === null || value.length === 0) return "–";
  if (typeof value !== "string") return value.join(", ");
  return /^[A-Z_]+$/.test(value) ? `\`${value}\`` : value;
}

function faults(): string {
  const rows = Object.entries<FaultRow>(faultTable).map(([name, row]) => {
    const marks = [
      row.ambiguous ? "ambiguous" : "",
      row.ambiguousOnce ? "once" : "",
      row.parkAfterADay ? "day" : "",
      row.misconfigured ? "alarm" : "",
    ];
    return [name, row.action, row.waits, marks.filter(Boolean).join(", ")];
  });
  return table(["Class", "Then", "Who waits", "Marks"], rows);
}

const exitMeanings: Readonly<Record<keyof typeof exitCodes, string>> = {
  ok: "ended in order",
  usage: "wrong arguments",
  unavailable: "something that is needed is missing: a disk, a runtime, the other side",
  internal: "a fault of this program",
  alreadyRunning: "already running",
  configuration: "configuration",
};

function exits(): string {
  const rows = Object.entries(exitCodes).map(([name, code]) => [
    String(code),
    exitMeanings[name as keyof typeof exitCodes],
  ]);
  return table(["Code", "Means"], rows);
}

function order(): string {
  const heads = ["Field", "Format", "Length", "Required", "What is sent", "A wrong value"];
  return table(heads, orderRows());
}

function errors(): string {
  const rows = Object.entries(errorTable).map(
    ([code, { http, charged, retry, meaning, action }]) => [
      `\`${code}\``,
      String(http),
      charged,
      retry,
      meaning,
      action,
      customerMessageName({ status: "Failed", error: { code: code as ErrorCode, charged } }),
    ],
  );
  const heads = ["Code", "HTTP", "charged", "retry", "Meaning", "What to do", "The customer"];
  return table(heads, rows);
}

function messages(): string {
  const codes = Map.groupBy(Object.keys(errorTable) as ErrorCode[], (code) =>
    customerMessageName({ status: "Failed", error: { code, charged: "no" } }),
  );
  const when: Partial<Record<CustomerMessageName, string>> = {
    paid: "`Success`",
    collect: "`Approved`",
    returned: "`Reversed`, `ORDER_REVERSED`",
    unknown: "`Unknown`, or `charged` is `unknown`",
    declined: "`Declined`: `PAYMENT_DECLINED`",
    cancelled: "`Cancelled`: `PAYMENT_CANCELLED`",
    "charged-ask": "an error, and `charged` is `yes`",
    unavailable: "every other error",
  };
  const rows = Object.entries(customerMessages).map(([name, sentences]) => [
    name,
    when[name as CustomerMessageName] ??
      (codes.get(name as CustomerMessageName) ?? []).map((code) => `\`${code}\``).join(" "),
    ...customerLanguages.map((language) => sentences[language]),
  ]);
  return table(["Name", "When", "English", "French", "German", "Italian", "Spanish"], rows);
}

function conditions(): string {
  const rows = conditionNames.map((name) => {
    const { when, ends, todo, alarm } = conditionTable[name];
    return [`\`${name}\``, ends ? `${when} ${ends}` : when, todo, `\`${alarm}\``];
  });
  return table(["Condition", "It is there when", "What to do", "Alarm"], rows);
}

function findings(): string {
  const rows = Object.entries(findingTable).map(([code, row]) => {
    const { check, verdict, todo = "" } = row;
    return [`\`${code}\``, check, verdict, printedText(row), todo].map((cell) =>
      cell.replaceAll("|", "\\|"),
    );
  });
  return table(["Code", "Check", "Verdict", "What the doctor says", "What helps"], rows);
}

function events(): string {
  const rows = Object.entries(eventTable).map(([name, data]) => [
    `\`${name}\``,
    isKept(name) ? "yes" : "no",
    textsOfEvent(name)[""] ?? "",
    Object.keys(data.shape)
      .map((member) => `\`${member}\``)
      .join(" "),
  ]);
  return table(["Event", "id", "Meaning", "Members, besides `at`"], rows);
}

/** Returns the table of metrics. */
async function metrics(): Promise<string> {
  const rows = (await metricsForReference()).map(({ name, type, labels, help }) => [
    `\`${name}\``,
    type,
    labels.map((label) => `\`${label}\``).join(" "),
    help,
  ]);
  return table(["Name", "Type", "Labels", "Meaning"], rows);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`);
  return `${lines.join("\n")}\n`;
}

if (import.meta.main) {
  for (const page of generatedPages) {
    const path = join(projectRoot, page);
    writeFileSync(path, await withGeneratedParts(page, readFileSync(path, "utf8")));
  }
}
