import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { TestInstallation } from "../../support/programs/installation.ts";
import { nexoInstallation } from "../../support/terminals/nexo-installation.ts";
import { acceptanceOf } from "../fixtures/acceptance-run.ts";

const root = join(temporaryFolder(afterAll), "root.pem");
const at = new TestInstallation(nexoInstallation(root));
beforeAll(async () => {
  await at.start();
  await at.connected();
});
afterAll(() => at.stop());

test("a reversal that a nexo terminal only passes on is left to the gateway", async () => {
  // The order is read once more, and then left; "s" is no answer to the question about the money.
  const reversed = ["", "", "s", "s", "?"];
  const leftOut = Array.from({ length: 10 }, () => "s");
  const answers = ["Make", "1.2", ...leftOut, ...reversed, "", ""];
  const run = await acceptanceOf(at.data, answers);
  expect(run.code, run.out).toBe(0);
  expect(run.out).toContain("any more: the terminal has received the reversal; what became of it");
  expect(run.out.match(/Enter: read the order again/g)).toHaveLength(2);
  expect(run.out.match(/y, n, or \? if it cannot be known/g)).toHaveLength(2);
  const row = "a payment is reversed | Unknown PAYMENT_UNKNOWN | unknown | ? | unknown |";
  expect(run.out).toContain(row);
  expect(run.verdictOf("the goods do not come out")).toContain("not with this terminal");
  const text = readFileSync(run.file, "utf8");
  expect(text).toMatch(/settings: .*NEXO_ENVIRONMENT=test, NEXO_KEY_IDENTIFIER=\(a key is set\)/);
  expect(text).not.toMatch(/simulated terminal|275039202/);
});
