import { posix } from "node:path";
import { expect, test } from "vitest";
import { fleetMessages } from "../../src/shared/ipc/fleet-messages.ts";
import { everyImport, type Import, importsOf, withoutComments } from "./modules.ts";
import { typescriptSources } from "./sources.ts";

/**
 * docs/architecture.md 2.2: who may import whom. The first rule that names the importer decides.
 */
interface Rule {
  readonly from: RegExp;
  /** A function gets the group of `from`: a protocol's name, or a room's. */
  readonly may: RegExp | ((group: string) => RegExp);
  readonly because: string;
}

const driverFolder = /^src\/tp-manager\/terminal\/(?!(?:transport|one-way)\/)([a-z0-9-]+)\//;
/** Protocols that share the leaf and the simulated terminals of another one. */
const leafOf = new Map([["caisse-ap", "concert"]]);
const protocols = new Set([
  ...typescriptSources().flatMap(({ path }) => driverFolder.exec(path)?.[1] ?? []),
  ...leafOf.values(),
]);
const anyProtocol = `(${[...protocols].join("|")})`;
/** What driver and simulator share of a protocol. */
const leaf = `^src/${anyProtocol}/`;
const driverInterface = "tp-manager/terminal/terminal[.]ts$";

function within(...folders: string[]): RegExp {
  return new RegExp(`^src/(${folders.join("|")})`);
}

const rules: readonly Rule[] = [
  { from: /^src\/shared\//, may: /^src\/shared\//, because: "shared is a leaf" },
  {
    from: /^src\/tp-manager\/attempts\//,
    may: within("shared/", "tp-manager/(attempts|matching/(?=answer))", driverInterface),
    because: "attempts knows only the driver interface, and types of the journal",
  },
  {
    from: /^src\/tp-manager\/matching\//,
    may: within("shared/", "tp-manager/(matching|attempts)/", driverInterface),
    because: "matching decides: it asks no terminal and no disk",
  },
  {
    from: /^src\/tp-manager\/supervisor\//,
    may: within("shared/", "tp-manager/(supervisor|attempts|matching)/", driverInterface),
    because: "the link to the supervisor knows attempts, not who pays",
  },
  {
    from: /^src\/tp-manager\/journal\//,
    may: within("shared/", "tp-manager/(supervisor|journal|attempts|matching)/", driverInterface),
    because: "the journal knows attempts, not who pays",
  },
  {
    from: /^src\/tp-manager\/audit\//,
    may: within("shared/", "tp-manager/(audit|attempts)/"),
    because: "the audit reads a file and knows the rules, no part of a running program",
  },
  {
    from: /^src\/tp-manager\/arbiter\//,
    may: within("shared/", "tp-manager/(arbiter|attempts|matching)/", driverInterface),
    because: "the arbiter knows attempts and the driver interface, not orders",
  },
  {
    from: /^src\/tp-manager\/orders\//,
    may: within(
      "shared/",
      "tp-manager/(orders|arbiter|attempts|matching|supervisor)/",
      driverInterface,
    ),
    because: "orders knows no HTTP, no SQL and no driver",
  },
  {
    from: /^src\/tp-manager\/(http\/|message-handlers\.ts$)/,
    // The API's document carries the client's words for customers.
    may: within(
      "shared/",
      "client/customer-messages\\.ts$",
      "tp-manager/(http|orders|arbiter|attempts|supervisor)/",
      driverInterface,
    ),
    because: "what answers the outside knows no SQL and no driver",
  },
  {
    from: /^src\/tp-manager\/terminal\/(terminal|driver)\.ts$/,
    may: within("shared/", "tp-manager/terminal/(terminal[.]ts|settings-en[.]json)$"),
    because: "the driver interface depends on no driver",
  },
  {
    from: /^src\/tp-manager\/terminal\/registry\.ts$/,
    may: /^src\/(shared\/|tp-manager\/terminal\/)/,
    because: "the registry is the one place that knows all drivers",
  },
  {
    from: /^src\/tp-manager\/terminal\/transport\//,
    may: within("shared/", "tp-manager/terminal/transport/"),
    because: "a transport moves bytes and knows no protocol",
  },
  {
    from: /^src\/tp-manager\/terminal\/one-way\//,
    may: within(
      "shared/",
      "tp-manager/terminal/(terminal|report-fields)[.]ts$",
      "tp-manager/terminal/(transport|one-way)/",
    ),
    because: "what drivers of one-way terminals share knows no protocol",
  },
  {
    from: driverFolder,
    may: (protocol) =>
      within(
        "shared/",
        "tp-manager/terminal/(terminal|driver|report-fields)[.]ts$",
        `tp-manager/terminal/(transport|one-way|${protocol})/`,
        `(${leafOf.get(protocol) ?? protocol}|tp-manager/terminal/${leafOf.get(protocol)}/link)/`,
      ),
    because: "drivers never import each other, but for the line of their family",
  },
  {
    from: /^src\/tp-manager\//,
    may: /^src\/(shared|tp-manager)\//,
    because: "tp-manager meets the supervisor only in shared",
  },
  {
    from: /^src\/supervisor\/fleet\//,
    may: within(
      "shared/(?!ipc/|program/lifecycle)",
      "shared/ipc/fleet-messages[.]ts$",
      "supervisor/fleet/",
      "supervisor/intake/supervisor-status[.]ts$",
    ),
    because: "nothing from the fleet can drive the terminal, or reach a program by a local message",
  },
  {
    from: /^src\/supervisor\//,
    may: within("(shared|supervisor|update)/"),
    because: "the supervisor meets tp-manager only in shared",
  },
  {
    from: new RegExp(`^src/simulator/terminal/${anyProtocol}/`),
    may: (protocol) =>
      within(
        "shared/",
        `${protocol}/`,
        `simulator/terminal/${protocol}/`,
        "simulator/[a-z-]+[.]ts$",
        `simulator/terminal/(?!${anyProtocol}/)`,
      ),
    because: "a simulated terminal shares a protocol's leaf only and has its own link layer",
  },
  {
    from: /^src\/simulator\/terminal\/registry\.ts$/,
    may: within("simulator/terminal/"),
    because: "the registry is the one place that knows all simulated protocols",
  },
  {
    from: /^src\/simulator\/terminal\//,
    may: within("shared/", "simulator/[a-z-]+[.]ts$", `simulator/terminal/(?!${anyProtocol}/)`),
    because: "what every card terminal has knows no protocol",
  },
  {
    from: /^src\/simulator\/gateway\//,
    may: within("shared/", "simulator/[a-z-]+[.]ts$", "simulator/gateway/"),
    because: "the sandbox is independent of the programs it tests",
  },
  {
    from: /^src\/simulator\//,
    may: within("shared/", "simulator/[a-z-]+[.]ts$"),
    because: "what the simulators share knows neither of them",
  },
  {
    from: /^src\/client\/answer-types\.ts$/,
    may: within("tp-manager/(attempts/event-table|http/(call|openapi/known-answers))[.]ts$"),
    because: "the types of the answers are those of their schemas",
  },
  { from: /^src\/client\//, may: within("client/"), because: "the client is copied elsewhere" },
  {
    from: /^src\/launcher\/(processes|schedule|demo|update|doctor)\//,
    may: (room) =>
      within(
        "(shared|update)/",
        `launcher/((processes|schedule|${room})/|(arguments|output)[.]ts$|texts-en[.]json$)`,
        ...(room === "doctor" ? ["tp-manager/terminal/registry[.]ts$"] : []),
      ),
    because: "no room of the launcher calls a command; only the doctor knows the drivers' names",
  },
  { from: /^src\/launcher\//, may: within("(shared|launcher|update)/"), because: "it starts all" },
  {
    from: /^src\/update\//,
    may: within("(shared|update)/"),
    because: "updates know no payments, so that supervisor, launcher and publisher may use them",
  },
  {
    from: new RegExp(leaf),
    may: (protocol) => within("shared/", `${protocol}/`),
    because: "what driver and simulator share of a protocol imports nothing above it",
  },
];

/** Pure files do no I/O: they may import types from anywhere, values only from other pure files. */
const pure = new RegExp(
  `${leaf}|^src/(.*-(machine|policy|check)\\.ts$|.*/(attempt-input|fault-table)\\.ts$|` +
    "shared/money\\.ts$|tp-manager/terminal/(terminal|concert/link/frame)\\.ts$|" +
    "tp-manager/attempts/(payment|comparison)\\.ts$)",
);
const pureMayUse = new RegExp(
  "^(iconv-lite|currency-codes|zod)$|^node:(buffer|crypto|assert)$|" +
    "^src/shared/(money|catalog/errors|invariant|masking/mask|transaction|receipt)\\.ts$|" +
    "^src/.*-en\\.json$", // a catalogue of texts
);

const imports = everyImport();

test("every folder imports only what its place in the design allows", () => {
  const wrong = imports.flatMap(({ path, target }) => {
    // Who names the journal is said in walls.test.ts.
    if (!target.startsWith("src/") || target.startsWith("src/tp-manager/journal/")) return [];
    const rule = rules.find(({ from }) => from.test(path));
    if (!rule) return [];
    const [, protocol = ""] = rule.from.exec(path) ?? [];
    const may = typeof rule.may === "function" ? rule.may(protocol) : rule.may;
    return may.test(target) ? [] : [`${path} -> ${target}: ${rule.because}`];
  });
  expect(wrong).toEqual([]);
});

/** A room of src, such as `src/tp-manager/http`, or a file that lies next to the rooms. */
const roomOf = (path: string): string => path.split("/").slice(0, 3).join("/");

test("rooms import values of each other in one direction", () => {
  const between = imports
    .filter(
      ({ path, target, typeOnly }) => path.startsWith("src/") && /[.]ts$/.test(target) && !typeOnly,
    )
    .map((use) => ({ ...use, path: roomOf(use.path), target: roomOf(use.target) }))
    .filter(({ path, target }) => path !== target);
  expect(between.length).toBeGreaterThan(100);
  expect(circlesOf(between)).toEqual([]);
});

test("the fleet part can ask tp-manager one question, which changes nothing", () => {
  expect(Object.keys(fleetMessages)).toEqual(["fleet-news"]);
  const clients = imports.filter(
    ({ path, target, name }) =>
      path === "src/supervisor/start-fleet.ts" &&
      (target.startsWith("src/shared/ipc/contract") || name === "tpManagerMessages"),
  );
  expect(clients).toEqual([]);
  const takers = imports.filter(
    ({ path, target }) => /fleet\/fleet-requests\.ts$/.test(target) && path.startsWith("src/"),
  );
  expect([...new Set(takers.map(({ path }) => path))].sort()).toEqual([
    "src/supervisor/fleet/fleet.ts",
    "src/supervisor/start-fleet.ts",
    "src/supervisor/updates/fleet-updates.ts",
  ]);
});

test.each([
  'import { tpManagerMessages } from "../../shared/ipc/contract.ts";',
  'import { createIpcClient } from "../../shared/ipc/client.ts";',
  'import { ipcToken } from "../../shared/ipc/run-directory.ts";',
  'import { Forwarder } from "../outbox/forwarder.ts";',
  'import type { OperationExecutor } from "../operations/operation-executor.ts";',
  'import { OutboxAdmin } from "../outbox/outbox-admin.ts";',
])("the fleet is refused: %s", (text) => {
  const path = "src/supervisor/fleet/fleet-requests.ts";
  const rule = rules.find(({ from }) => from.test(path));
  const may = rule?.may as RegExp;
  expect(importsOf({ path, text }).map(({ target }) => may.test(target))).toEqual([false]);
});

test("nothing outside a driver knows a word of its protocol", () => {
  expect(protocols.size).toBeGreaterThan(0);
  const wrong = [...protocols].flatMap((protocol) => {
    const family = `(${familyOf(protocol).join("|")})`;
    const own = within(`${family}/`, `(tp-manager|simulator)/terminal/(${family}/|registry[.]ts$)`);
    return typescriptSources()
      .filter(({ path }) => path.startsWith("src/") && !own.test(path))
      .filter((source) => saysProtocol(withoutComments(source), protocol))
      .map(({ path }) => `${path}: ${protocol}`);
  });
  expect(wrong).toEqual([]);
});

/** A protocol and all those that it shares a leaf with. */
function familyOf(protocol: string): string[] {
  const leaf = leafOf.get(protocol) ?? protocol;
  return [leaf, ...[...leafOf].flatMap(([sharing, of]) => (of === leaf ? [sharing] : []))];
}

/** As a word or as a part of an identifier or path: ZvtTerminal, ZVT_PORT, "./zvt/bmp.ts". */
function saysProtocol(code: string, protocol: string): boolean {
  const parts = code.replace(/[a-z0-9](?=[A-Z])|[A-Z](?=[A-Z][a-z])/g, "$&-").toLowerCase();
  return new RegExp(`(?<![a-z0-9])${protocol}(?![a-z])`).test(parts);
}

test("a protocol is found as a part of a name, not inside another word", () => {
  const named = ["createOpiTerminal", "OPI_PORT", "opiPort", "OPITerminal", '"./opi/x.ts"', "opi2"];
  expect(named.filter((code) => !saysProtocol(code, "opi"))).toEqual([]);
  const innocent = ["copied", "topic", "OPINION", "utopia", "echoOpinion", "copiOf"];
  expect(innocent.filter((code) => saysProtocol(code, "opi"))).toEqual([]);
  const source = { path: "src/a.ts", text: 'f("tcp://opi"); // zvt\n/* zvt */' };
  expect(["opi", "zvt"].filter((one) => saysProtocol(withoutComments(source), one))).toEqual([
    "opi",
  ]);
});

test("no file imports itself in a circle, types and dynamic imports included", () => {
  expect(circlesOf(imports)).toEqual([]);
});

test.each([
  'import { b } from "./b.ts";',
  'import "./b.ts";',
  'import type { b } from "./b.ts";',
  'export * from "./b.ts";',
  'const { b } = await import("./b.ts");',
  'type B = import("./b.ts").B;',
])("a circle closes through %s", (text) => {
  const back = importsOf({ path: "src/b.ts", text: 'import "./a.ts";' });
  const circle = ["src/a.ts -> src/b.ts -> src/a.ts"];
  expect(circlesOf([...importsOf({ path: "src/a.ts", text }), ...back])).toEqual(circle);
});

function circlesOf(found: readonly Import[]): string[] {
  const byPath = Map.groupBy(found, ({ path }) => path);
  const done = new Set<string>();
  const circles: string[] = [];
  const follow = (path: string, way: readonly string[]): void => {
    if (way.includes(path)) circles.push([...way.slice(way.indexOf(path)), path].join(" -> "));
    if (way.includes(path) || done.has(path)) return;
    const targets = new Set(byPath.get(path)?.map(({ target }) => target));
    for (const target of targets) follow(target, [...way, path]);
    done.add(path);
  };
  for (const path of byPath.keys()) follow(path, []);
  return circles;
}

test("every import() names its file in plain words, so that these rules can read it", () => {
  const wrong = typescriptSources()
    .filter(({ path }) => path.startsWith("src/"))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/\b(?:import\((?!\s*")|(?:require|createRequire)\().*/g)].map(
        ([found]) => `${path}: ${found}`,
      ),
    );
  expect(wrong).toEqual([]);
});

test("src never imports tests or scripts, and nobody imports a main.ts", () => {
  const wrong = imports.filter(
    ({ path, target }) =>
      (path.startsWith("src/") && /^(test|scripts)\//.test(target)) || /\/main\.ts$/.test(target),
  );
  expect(wrong).toEqual([]);
});

test("answer schemas and examples are loaded by their generator and by tests only", () => {
  const wrong = imports.filter(
    ({ path, target, typeOnly }) =>
      path.startsWith("src/") &&
      !typeOnly &&
      target.startsWith("src/tp-manager/http/openapi/") &&
      !path.startsWith("src/tp-manager/http/openapi/"),
  );
  expect(wrong).toEqual([]);
});

test("a file of the client imports no values but texts, so that it runs in a browser", () => {
  const ofClient = imports.filter(({ path }) => path.startsWith("src/client/"));
  const entry = "src/client/index.ts"; // of the package, which is built
  const values = ofClient.filter(({ target, typeOnly }) => !typeOnly && !/\.json$/.test(target));
  expect(values.filter(({ path }) => path !== entry)).toEqual([]);
});

test("pure files import types, and values only from pure files", () => {
  const wrong = imports.filter(
    ({ path, target, typeOnly }) =>
      pure.test(path) && !typeOnly && !pure.test(target) && !pureMayUse.test(target),
  );
  expect(wrong).toEqual([]);
});

test("clock and random numbers are called only in shared/time.ts, and by a kiosk's client", () => {
  const banned =
    /\b(setTimeout|setInterval|Date\.now|Math\.random|performance\.now)\s*\(|new Date\(\)/;
  const wrong = typescriptSources()
    .filter(({ path }) => /^src\/(?!client\/|shared\/time\.ts$)/.test(path))
    .flatMap(({ path, text }) =>
      text.split("\n").flatMap((line, i) => (banned.test(line) ? [`${path}:${i + 1}`] : [])),
    );
  expect(wrong).toEqual([]);
});

test("file names are kebab-case and say what they export", () => {
  const wrong = typescriptSources().filter(
    ({ path }) =>
      !/^[a-z0-9-]+(\.test|\.config)?\.ts$/.test(posix.basename(path)) ||
      /(^|\/)(utils?|helpers?|common|misc)(\/|\.ts$)/.test(path),
  );
  expect(wrong.map(({ path }) => path)).toEqual([]);
});
