import { expect, test } from "vitest";
import { everyImport, type Import, importsOf } from "./modules.ts";

/** docs/architecture.md 2.2: the walls around the driver and around the journal. */
const imports = everyImport();

function faultsOf(wall: (one: Import) => string | undefined): string[] {
  return imports.flatMap((one) => {
    const fault = wall(one);
    return fault === undefined ? [] : [`${one.path} -> ${one.target}: ${fault}`];
  });
}

/** What other rooms may name of the arbiter; everything else of it leads to the driver. */
const nameable = new Set(["TerminalArbiter", "ArbiterSettings", "ClosingKeeper"]);

/** Why an import leads past the arbiter to the wire (docs/architecture.md 2.2), if it does. */
function wallFault({ path, target, name, passedOn }: Import): string | undefined {
  const room = /^src\/tp-manager\/(arbiter|terminal)\//;
  const [, entered] = room.exec(target) ?? [];
  const [, own] = room.exec(path) ?? [];
  if (!path.startsWith("src/") || entered === undefined) return undefined;
  if (passedOn) return "a re-export gives another name to what the wall keeps";
  if (own === entered) return undefined;
  if (/\/terminal\/registry\.ts$/.test(target)) {
    const may = /^src\/(tp-manager\/main\.ts$|launcher\/doctor\/)/.test(path);
    return may ? undefined : "only main.ts and the doctor read the registry";
  }
  if (name === "*") return "a whole file is imported without a name";
  if (entered === "arbiter") {
    return nameable.has(name) ? undefined : `${name} is the arbiter's own`;
  }
  if (target !== "src/tp-manager/terminal/terminal.ts") return "a driver's own file";
  const isDriver = name === "Terminal" || name === "HeldTerminal";
  return isDriver && own !== "arbiter" ? "only the arbiter knows a whole terminal" : undefined;
}

test("only the arbiter and what makes a driver know a whole terminal", () => {
  expect(faultsOf(wallFault)).toEqual([]);
});

const aroundTheArbiter: readonly string[] = [
  'import type { Terminal } from "../terminal/terminal.ts";',
  'import type { HeldTerminal as Facts } from "../terminal/terminal.ts";',
  'import type * as driver from "../terminal/terminal.ts";',
  'export type * from "../terminal/terminal.ts";',
  'type Driver = import("../terminal/terminal.ts").Terminal;',
  'import type { Held } from "../arbiter/terminal-lease.ts";',
  'import { TerminalLease } from "../arbiter/terminal-lease.ts";',
  'import * as arbiter from "../arbiter/terminal-arbiter.ts";',
  'const { IdentityCheck } = await import("../arbiter/terminal-identity.ts");',
  'import { driverFor } from "../terminal/registry.ts";',
  'const { driverFor } = await import("../terminal/registry.ts");',
  'import type { Driver } from "../terminal/driver.ts";',
  'import { ZvtTerminal } from "../terminal/zvt/zvt-terminal.ts";',
];
test.each(aroundTheArbiter)("the wall around the driver refuses %s", (text) => {
  for (const path of ["src/tp-manager/http/app.ts", "src/tp-manager/orders/orders.ts"]) {
    expect(importsOf({ path, text }).map(wallFault)).toEqual([expect.any(String)]);
  }
});

const handedOn: readonly string[] = [
  'export type { Terminal as TerminalView } from "../terminal/terminal.ts";',
  'export type { TerminalLease as TurnView } from "../arbiter/terminal-lease.ts";',
  'export type * from "../terminal/terminal.ts";',
  'import type { Terminal } from "../terminal/terminal.ts"; export type { Terminal as TurnView };',
];
test.each(handedOn)("the wall has no door inside it that hands on: %s", (text) => {
  for (const path of ["src/tp-manager/arbiter/door.ts", "src/tp-manager/terminal/door.ts"]) {
    expect(importsOf({ path, text }).map(wallFault)).toContainEqual(expect.any(String));
  }
});

/** The rooms that are handed parts of the journal. */
const journalTakers = new RegExp(
  "^src/tp-manager/((attempts|matching|supervisor|arbiter|orders|http|console)/|" +
    "message-handlers\\.ts$)",
);

/**
 * Why an import makes a part of the journal, or takes one that it should not, if it does. A part
 * has one implementation: code that is handed one names its class as a type, which is gone when the
 * program runs.
 */
function journalFault({ path, target, typeOnly, passedOn }: Import): string | undefined {
  const isInside = path.startsWith("src/tp-manager/journal/") || !path.startsWith("src/");
  if (!target.startsWith("src/tp-manager/journal/") || isInside) return undefined;
  if (path === "src/tp-manager/main.ts") return undefined;
  if (!typeOnly || passedOn) return "only main.ts makes a journal";
  return journalTakers.test(path) ? undefined : "nobody hands it a part of the journal";
}

test("only main.ts makes a journal; others are handed a part, and name its type", () => {
  expect(faultsOf(journalFault)).toEqual([]);
});

const part = "../journal/attempt-rows.ts";
test.each([
  `import { AttemptRows } from "${part}";`,
  `import { type AttemptRows } from "${part}";`,
  `import * as journal from "${part}";`,
  `export { AttemptRows } from "${part}";`,
  `export type { AttemptRows } from "${part}";`,
  `const { AttemptRows } = await import("${part}");`,
])("the wall around the journal refuses %s", (text) => {
  const type = `import type { AttemptRows } from "${part}";`;
  for (const room of ["attempts", "matching", "supervisor", "arbiter", "orders", "http"]) {
    const path = `src/tp-manager/${room}/taker.ts`;
    expect(importsOf({ path, text: type }).map(journalFault)).toEqual([undefined]);
    expect(importsOf({ path, text }).map(journalFault)).toEqual([expect.any(String)]);
  }
  const driver = "src/tp-manager/terminal/driver.ts";
  expect(importsOf({ path: driver, text: type }).map(journalFault)).toEqual([expect.any(String)]);
});
