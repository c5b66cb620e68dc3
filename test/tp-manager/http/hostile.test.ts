import { expect, test } from "vitest";
import type { z } from "zod";
import { calls } from "../../../src/tp-manager/http/calls/calls.ts";
import { house, pay, request } from "../../support/house/payment-house.ts";
import { document, faultsOf } from "./conformity.ts";
import { hostileSamples } from "./hostile-samples.ts";
import { api } from "./rig.ts";

/**
 * The document and the API judge every hostile sample alike. The samples that they judge otherwise
 * are listed here, with the reason. The texts of the refusals are in the folder `refused`: programs
 * show them to people, so they change only on purpose.
 */
const exceptions: ReadonlyArray<readonly [call: RegExp, sample: RegExp, because: string]> = [
  [/./, /4111|1{4} 1{4}/, "a schema cannot compute the check digit of a card number"],
  [/payment$|delivery/, /"amount":(9\.999|1000000|99999999|1e-7)[,}]/, "the currency decides"],
  [/payment$/, /"JPY","amount":1\.5/, "the currency decides"],
  [/payment$/, /"currency":"(ZZZ|XAU)"/, "ISO 4217 changes; the document has the form of a code"],
  [/payment$/, /"basket":(5|"x"|\[\[\]\]|\[.*"name":5)/, "a basket that is none is echoed only"],
  [/gateway/, /"amount":(-?0|-1|1e9|100000000)[,}]/, "read when the supervisor named the currency"],
  [/payments/, /cursor=9{16}$/, "above 2^53 the digits of a pattern cannot be counted"],
];
const refusals = ["REQUEST_INVALID", "BODY_NOT_JSON", "CARD_DATA_REFUSED"];
const operator = { login: "boss", password: "of-the-terminal" };
const authorization = `Basic ${btoa(`${operator.login}:${operator.password}`)}`;

interface Judged {
  /** Samples that the two judge differently, and no exception says why. */
  readonly different: readonly string[];
  /** The texts of the refusals. */
  readonly words: readonly string[];
  /** The reasons of the exceptions that were needed. */
  readonly used: readonly string[];
}

const judgements = new Map<string, Promise<Judged>>();

/** Judges the samples of a call once, for every test that needs them. */
function judged(call: string): Promise<Judged> {
  const known = judgements.get(call) ?? judge(call, hostileSamples[call] ?? []);
  judgements.set(call, known);
  return known;
}

async function judge(call: string, samples: readonly string[]): Promise<Judged> {
  const [method = "", url = ""] = call.split(" ");
  const at = house();
  if (url !== "/payment") await pay(at, request("A-1"));
  const { app } = await api({ operator }, at);
  const different: string[] = [];
  const problems: string[] = [];
  const used: string[] = [];
  for (const sample of samples) {
    const isQuery = sample.startsWith("?");
    const { body } = await app.inject({
      method: method as "GET" | "POST",
      url: isQuery ? `${url}${sample}` : url,
      headers: {
        host: "localhost:8765",
        authorization,
        ...(isQuery ? {} : { "content-type": "application/json" }),
      },
      ...(isQuery ? {} : { payload: sample }),
    });
    const [one] = JSON.parse(body) as [{ error?: { code: string; message: string } | null }];
    const { code, message } = one?.error ?? { code: "", message: "" };
    const taken = !refusals.includes(code);
    if (!taken) problems.push(`${JSON.stringify(sample).slice(0, 110)} ${code} ${message}`);
    const allowed = isQuery ? allowsQuery(url, sample) : allowsBody(url, sample);
    if (taken === allowed) continue;
    const known = exceptions.filter(([of, what]) => of.test(url) && what.test(sample));
    used.push(...known.map(([, , because]) => because));
    if (known.length === 0) {
      different.push(`${sample.slice(0, 120)}: API ${taken}, document ${allowed}`);
    }
  }
  return { different, words: problems, used };
}

test.each(Object.keys(hostileSamples))(
  "document and API judge the samples of %s alike",
  async (call) => {
    const { different, words: problems } = await judged(call);
    expect(different).toEqual([]);
    const file = `refused/${call.replace(/\W+/g, "-").toLowerCase()}.txt`;
    await expect(`${problems.join("\n")}\n`).toMatchFileSnapshot(file);
  },
);

test("every call with a body or a query has samples", () => {
  const expected = calls.flatMap(({ path, methods, body, query }) =>
    methods
      .filter((method) => (method === "POST" ? body : query))
      .map((method) => `${method} ${path}`),
  );
  expect(Object.keys(hostileSamples).map(pathOf).toSorted()).toEqual(expected.toSorted());
});

/** By the paths that hold them; an order that may exist is looked up, and not found. */
const orderIds: ReadonlyArray<readonly [id: string, taken: boolean]> = [
  ["B-1", true],
  ["Ord/1 ä ☃", true],
  ["4111111111111111", true],
  ["x".repeat(64), true],
  ["x".repeat(65), false],
  ["☃".repeat(65), false],
  ["a\nb", false],
  ["\u0000", false],
  ["\u009f", false],
];

test.each(orderIds)("document and API judge the order id %j of a path alike", async (id, taken) => {
  const { app } = await api({ operator });
  const headers = { host: "localhost:8765", authorization };
  const settlement = { outcome: "charged", note: "seen" };
  const code = taken ? "ORDER_NOT_FOUND" : "REQUEST_INVALID";
  for (const [method, rest, payload] of [
    ["GET", "", undefined],
    ["POST", "/settle", settlement],
  ] as const) {
    const url = `/payment/${encodeURIComponent(id)}${rest}`;
    const answer = await app.inject({ method, url, headers, ...(payload ? { payload } : {}) });
    const [{ error, receipt }] = answer.json();
    expect([answer.statusCode, error.code]).toEqual([taken ? 404 : 400, code]);
    if (!taken) expect(error.message).toBe("orderId must be a text of 1 to 64 characters");
    expect(receipt).toBeDefined();
    const where = ["paths", `/payment/{orderId}${rest}`, method.toLowerCase(), "parameters", "0"];
    expect(faultsOf([...where, "schema"], id).length === 0).toBe(taken);
  }
});

test("every exception of the list is needed", async () => {
  const all = await Promise.all(Object.keys(hostileSamples).map(judged));
  const used = new Set(all.flatMap((one) => one.used));
  expect(exceptions.map(([, , because]) => because).filter((one) => !used.has(one))).toEqual([]);
});

function pathOf(url: string): string {
  return url.replace("/payment/A-1", "/payment/{orderId}").replace("/outbox/1", "/outbox/{id}");
}

function allowsBody(url: string, sample: string): boolean {
  const path = pathOf(url);
  const { required = false } = document.paths[path]?.["post"]?.requestBody ?? {};
  if (sample === "") return !required;
  const where = ["paths", path, "post", "requestBody", "content", "application/json", "schema"];
  try {
    return faultsOf(where, JSON.parse(sample)).length === 0;
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}

/** Numbers are read as OpenAPI writes them; a name that is there twice is a list. */
function allowsQuery(url: string, sample: string): boolean {
  const path = pathOf(url);
  const parameters = document.paths[path]?.["get"]?.parameters ?? [];
  const given = [...new URLSearchParams(sample)];
  return given.every(([name, text]) => {
    const index = parameters.findIndex((one) => one.in === "query" && one.name === name);
    if (index < 0) return false;
    const twice = given.filter(([other]) => other === name).length > 1;
    const { type } = (parameters[index]?.schema ?? {}) as { readonly type?: string };
    const isInteger = type === "integer";
    const value = isInteger && /^-?(0|[1-9]\d*)$/.test(text) ? Number(text) : text;
    const where = ["paths", path, "get", "parameters", String(index), "schema"];
    return !twice && faultsOf(where, value).length === 0;
  });
}

test("every check of a request that JSON Schema cannot express has a description", () => {
  const silent = calls.flatMap(({ path, body, query, headers }) =>
    [body, query, headers].flatMap((schema) => (schema ? silentChecks(schema, path) : [])),
  );
  expect(silent).toEqual([]);
});

/** Checks of zod that have neither a description nor a schema in the document. */
function silentChecks(schema: z.ZodType, path: string): string[] {
  const { def } = schema as unknown as { def: Record<string, unknown> & { type: string } };
  const meta = schema.meta() ?? {};
  const documented = ["description", "documented", "exactlyOne"].some((name) => name in meta);
  if (documented && "documented" in meta) return [];
  const checks = (def["checks"] ?? []) as ReadonlyArray<{ _zod: { def: { check: string } } }>;
  const isCustom = def.type === "custom" || checks.some((one) => one._zod.def.check === "custom");
  const inner = [
    ...Object.entries((def["shape"] ?? {}) as Record<string, z.ZodType>),
    ...["innerType", "in", "out", "element", "valueType"].map((name) => [name, def[name]] as const),
  ].flatMap(([name, member]) =>
    member ? silentChecks(member as z.ZodType, `${path} ${name}`) : [],
  );
  return [...(isCustom && !documented ? [path] : []), ...inner];
}
