import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { protocols } from "../../src/simulator/terminal/registry.ts";
import { protocolPart } from "../../src/tp-manager/terminal/registry.ts";
import { demoFolder } from "../support/programs/demo-folder.ts";
import { isWhole, rowsOf } from "../support/run/scope.ts";
import { run, TemporaryCheckout } from "./fixtures/temporary-checkout.ts";

/** One demo that speaks one protocol after the other. */
let checkout: TemporaryCheckout;
beforeAll(async () => {
  checkout = new TemporaryCheckout("bundled", "own");
  await demoFolder(join(checkout.root, "data/demo"));
});
afterAll(() => checkout.remove());

const demo = (...args: readonly string[]) => run("./launch.sh", ["--demo", ...args], checkout.root);
const config = () => readFileSync(join(checkout.root, "data/demo/config.txt"), "utf8");

/** Every protocol that both the connector and the simulated terminal speak. */
const known = protocolPart.fields["TERMINAL_PROTOCOL"];
const [usual, ...others] = protocols
  .map(({ name }) => name)
  .filter((name) => known?.safeParse(name).success);

test("an unknown protocol is refused with the names that are known", async () => {
  const { code, err } = await demo("--protocol", "abacus");
  expect(code).toBe(64);
  for (const name of [usual, ...others]) expect(err).toContain(name);
  expect((await run("./launch.sh", ["status", "--protocol", "abacus"], checkout.root)).code).toBe(
    64,
  );
});

// The scenarios pay with a terminal of every protocol; in the whole scope the demo does so too.
test.each(rowsOf(others, others.length))("the demo pays with a terminal of %s", async (name) => {
  const { code, out, err } = await demo("--protocol", name);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(out).toContain('"status": "Success"');
  expect(config()).toContain(`\nTERMINAL_PROTOCOL=${name}\n`);
  expect(out).not.toContain("/cancel");
  // The prompts of this terminal come from its notifications.
  if (!config().includes("NEXO_NOTIFY_PORT=")) return;
  const log = readFileSync(join(checkout.root, "data/demo/logs/tp-manager.log"), "utf8");
  expect(log).toContain('"event":"TENDER_CREATED"');
});

/** A nexo terminal has an identity, so a demo with the next one pays when that is accepted. */
async function acceptedAfterNexo() {
  const { code, err } = await demo();
  expect(code).toBe(69);
  expect(err).toContain("Accept this one at");
  const [, port] = /^LOCAL_PORT=(\d+)$/m.exec(config()) ?? [];
  const login = ["--netrc-file", "data/demo/netrc-operator"];
  const call = ["-sS", "-f", "-X", "POST", `http://127.0.0.1:${port}/terminal/accept`];
  expect((await run("curl", [...login, ...call], checkout.root)).code).toBe(0);
  return await demo();
}

test("without --protocol the demo speaks the usual one, also when that one is named", async () => {
  const first = isWhole ? await acceptedAfterNexo() : await demo();
  expect([first.code, first.out.includes('"status": "Success"')]).toEqual([0, true]);
  expect(config()).not.toContain("TERMINAL_PROTOCOL");
  const named = await demo("--protocol", String(usual));
  expect(named.out).toContain("It runs already.");
});
