/**
 * The same payment by the packages that the product has to use, with nothing of the product's own:
 *   node scripts/bench/packages.ts manager|supervisor FOLDER
 * fastify with @fastify/basic-auth, a zod schema of the request and an answer that fastify
 * serializes by its schema, pino with as many lines as the product writes, prom-client with the
 * time of each answer, node:sqlite with five synced commits of rows as long as the product's, a
 * message of JSON over a local socket, and the client of the package soap; or the floor's POST, as
 * the product sends orders by its own code. What these take cannot be less in the product. They
 * know no other end than the good one: they check nothing of what the terminal says, and recover
 * from nothing. They read FOLDER/plan.json, as the floor does.
 */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { Agent } from "node:http";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import basicAuth from "@fastify/basic-auth";
import { code as currencyOf } from "currency-codes";
import { fastify } from "fastify";
import { pino } from "pino";
import { collectDefaultMetrics, Histogram } from "prom-client";
import { z } from "zod";
import { transactionSchema } from "../../src/shared/transaction.ts";
import { assetFile } from "../../src/shared/version-files.ts";
import { connected, converse, posterOf, readPlan } from "./conversation.ts";

const [, , role = "", folder = ""] = process.argv;
const plan = readPlan(folder);
const { rows, lines } = plan;
const hopPath = join(folder, "packages.sock");

const database = new DatabaseSync(join(folder, `packages-${role}.db`));
database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
const logger = pino(
  { base: { program: role }, timestamp: pino.stdTimeFunctions.isoTime },
  pino.destination({ dest: join(folder, `packages-${role}.log`), sync: true }),
);
const logged = (lines[role] ?? []).map(({ level, time, program, msg, ...fields }) => {
  return { fields, text: String(msg) };
});

const requestSchema = z.strictObject({
  amount: z.number().positive(),
  orderId: z.string().min(1).max(64),
  currency: z.string().length(3).default("EUR"),
  basket: z.unknown().optional(),
  customer: z.strictObject({ id: z.number(), email: z.email() }).optional(),
  customData: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).optional(),
});
const answerSchema = z.object({
  status: z.string(),
  error: z.null(),
  receipt: z.record(z.string(), z.string()),
  ticket: z.string(),
  amount: z.number(),
  chargedAmount: z.number(),
  currency: z.string(),
  orderId: z.string(),
  notificationGatewaySent: z.boolean(),
  transactionId: z.string(),
  warnings: z.array(z.string()),
});
const replySchema = z.object({ state: z.enum(["sent", "pending"]) });

if (role === "supervisor") await runSupervisor();
else await runManager();

/** Writes the lines `from` to `to` of those that the product wrote for one payment. */
function log(from: number, to?: number): void {
  for (const { fields, text } of logged.slice(from, to)) logger.info(fields, text);
}

/** One synced commit. */
function commit<T>(work: () => T): T {
  database.exec("BEGIN IMMEDIATE");
  const result = work();
  database.exec("COMMIT");
  return result;
}

/** The three commits of a payment in the program of the terminal, as long as the product's. */
function openJournal() {
  database.exec(`
    CREATE TABLE attempt (id TEXT PRIMARY KEY, order_id TEXT UNIQUE, phase TEXT, request TEXT,
      baseline TEXT, state TEXT, ticket TEXT) STRICT;
    CREATE TABLE attempt_event (id INTEGER PRIMARY KEY, attempt TEXT, detail TEXT) STRICT;
    CREATE TABLE event (id INTEGER PRIMARY KEY, data TEXT) STRICT;
    CREATE TABLE hand_off (id INTEGER PRIMARY KEY, body TEXT) STRICT`);
  const known = database.prepare("SELECT id FROM attempt WHERE order_id = ?");
  const insert = database.prepare("INSERT INTO attempt VALUES (?, ?, 'sent', ?, ?, '{}', '')");
  const update = database.prepare(
    "UPDATE attempt SET phase = ?, state = ?, ticket = ? WHERE id = ?",
  );
  const step = database.prepare("INSERT INTO attempt_event (attempt, detail) VALUES (?, ?)");
  const event = database.prepare("INSERT INTO event (data) VALUES (?)");
  const handOff = database.prepare("INSERT INTO hand_off (body) VALUES (?)");
  const { request = "", baseline = "", state = "", ticket = "" } = textsOf("attempt")[0] ?? {};
  const [reported = "", ...ended] = textsOf("attempt_event").map(
    ({ detail, input }) => `${detail}${input}`,
  );
  const [begun = "", charged = ""] = textsOf("event").map(({ data = "" }) => data);
  return {
    isKnown: (orderId: string) => known.get(orderId) !== undefined,
    begin(id: string, orderId: string): void {
      commit(() => {
        insert.run(id, orderId, request, baseline);
        event.run(begun);
      });
    },
    report(id: string): void {
      commit(() => {
        update.run("sent", state, "", id);
        step.run(id, reported);
      });
    },
    end(id: string, body: string): void {
      commit(() => {
        update.run("charged", state, ticket, id);
        for (const each of ended) step.run(id, each);
        event.run(charged);
        handOff.run(body);
      });
    },
  };
}

/** Returns the rows that the product wrote into a table for one payment, each value as a text. */
function textsOf(table: string): Record<string, string>[] {
  return (rows[table] ?? []).map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, String(value)])),
  );
}

async function runManager(): Promise<void> {
  const journal = openJournal();
  const transaction = JSON.parse(textsOf("hand_off")[0]?.["body"] ?? "") as object;
  const [good] = z.tuple([answerSchema]).parse(JSON.parse(plan.answer));
  const terminal = await connected(connect({ port: plan.terminalPort, host: "127.0.0.1" }));
  const hop = await connected(connect(hopPath));
  const [registration = "", question = "", payment = ""] = plan.commands;
  await converse(terminal, registration, () => {});
  let replied = (_text: string): void => {};
  onLines(hop, (text) => replied(text));

  const app = await openApp();
  const serialized = z.toJSONSchema(z.array(answerSchema), { target: "draft-7" });
  app.post("/payment", { schema: { response: { 200: serialized } } }, async ({ body }) => {
    const { orderId, currency } = requestSchema.parse(body);
    if (journal.isKnown(orderId) || !currencyOf(currency)) throw new Error("not to be paid");
    await converse(terminal, question, () => {});
    const transactionId = randomUUID();
    journal.begin(transactionId, orderId);
    log(0, 1);
    await converse(terminal, payment, () => {
      log(1, 3);
      journal.report(transactionId);
    });
    const text = JSON.stringify({ ...transaction, transactionId, orderId });
    journal.end(transactionId, text);
    const reply = new Promise<string>((resolve) => {
      replied = resolve;
      hop.write(`${text}\n`);
    });
    log(3, 4);
    replySchema.parse(JSON.parse(await reply));
    setImmediate(() => log(4));
    return [{ ...good, orderId, transactionId }];
  });
  const address = await app.listen({ port: 0, host: "127.0.0.1" });
  process.stdout.write(`ready ${new URL(address).port}\n`);
}

async function openApp() {
  collectDefaultMetrics();
  const answers = new Histogram({ name: "answer_seconds", help: "-", labelNames: ["status"] });
  const app = fastify();
  await app.register(basicAuth, { validate: async () => {}, authenticate: true });
  app.addHook("onRequest", app.basicAuth);
  app.addHook("onResponse", (_request, reply, done) => {
    answers.observe({ status: reply.statusCode }, reply.elapsedTime / 1_000);
    done();
  });
  return app;
}

/** Calls `line` with each text that comes and ends with a line break. */
function onLines(socket: Socket, line: (text: string) => void): void {
  let text = "";
  socket.setEncoding("utf8").on("data", (piece) => {
    text += piece;
    if (!text.endsWith("\n")) return;
    line(text);
    text = "";
  });
}

async function runSupervisor(): Promise<void> {
  database.exec(`
    CREATE TABLE transactions (id TEXT PRIMARY KEY, content TEXT) STRICT;
    CREATE TABLE outbox (id INTEGER PRIMARY KEY, transaction_id TEXT, state TEXT, row TEXT) STRICT;
    CREATE TABLE try (id INTEGER PRIMARY KEY, row TEXT) STRICT;
    CREATE INDEX waiting ON outbox (id) WHERE state = 'pending'`);
  const store = database.prepare("INSERT INTO transactions VALUES (?, ?)");
  const queue = database.prepare(
    "INSERT INTO outbox (transaction_id, state, row) VALUES (?, 'pending', ?) RETURNING id",
  );
  const end = database.prepare("UPDATE outbox SET state = 'sent' WHERE id = ?");
  const tried = database.prepare("INSERT INTO try (row) VALUES (?)");
  const [queued = "", ended = ""] = ["outbox", "attempts"].map((table) =>
    JSON.stringify(Object.values(rows[table]?.[0] ?? {})),
  );
  const post = await openGateway();
  const send = async (text: string): Promise<string> => {
    const transaction = transactionSchema.parse(JSON.parse(text));
    const position = commit(() => {
      store.run(transaction.transactionId, JSON.stringify(transaction));
      return Number(queue.get(transaction.transactionId, queued)?.["id"]);
    });
    await post(transaction.orderId);
    commit(() => {
      end.run(position);
      tried.run(ended);
    });
    setImmediate(() => log(0));
    return JSON.stringify({ state: "sent" });
  };
  createServer((socket) => {
    onLines(socket, (text) => void send(text).then((reply) => socket.write(`${reply}\n`)));
  }).listen(hopPath, () => process.stdout.write("ready 0\n"));
}

/** Returns what sends an order once, and rejects unless the gateway takes it. */
async function openGateway(): Promise<(orderId: string) => Promise<void>> {
  if (plan.withoutSoap) {
    const post = posterOf(plan);
    return () => new Promise((resolve) => post(resolve));
  }
  const wsdl = readFileSync(assetFile("supervisor/gateway/wsdl/payment-v2.wsdl"), "utf8");
  const address = plan.gatewayUrl;
  const { createClientAsync } = await import("soap");
  const client = await createClientAsync(wsdl.replaceAll("https://gateway.invalid", address));
  const parameters = parametersIn(plan.order.body);
  const options = { forever: true, httpAgent: new Agent({ keepAlive: true }) };
  return async (orderId) => {
    const own = { parameters: { ...parameters, merchantReference: orderId } };
    const [{ generateResult: result }] = await client["generateAsync"](own, options);
    if (Number(result.code) !== 0) throw new Error("the gateway refuses the order");
  };
}

/** Returns the parameters of an order that the product has written: texts, and the free data. */
function parametersIn(xml: string): object {
  const texts = (part: string) =>
    Object.fromEntries(
      [...part.matchAll(/<(\w+)>([^<]*)<\/\1>/g)].map(([, name, text]) => [name, text]),
    );
  const [own = "", free = ""] = xml.split("<freeData>");
  return { ...texts(own), freeData: { item: free.split("</item>").slice(0, -1).map(texts) } };
}
