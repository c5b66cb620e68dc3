import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { showAudit } from "../../src/launcher/commands/audit.ts";
import { checkJournal } from "../../src/launcher/doctor/check-programs.ts";
import { ProgramExit } from "../../src/shared/process/exit-codes.ts";
import { installationAt } from "../../src/shared/program/installation.ts";
import { systemClock } from "../../src/shared/time.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { house, pay, request } from "../support/house/payment-house.ts";
import { recordedOutput } from "../support/programs/recorded-output.ts";

/** A data folder whose journal has one charged order, and is still open. */
async function journal() {
  const at = house(join(temporaryFolder(), "journal.db"));
  await pay(at, request("A-1"));
  return { at, path: at.path, data: dirname(at.path) };
}

/** What the audit says about a data folder, or about a file. */
async function audited(data: string, file?: string) {
  const said: string[] = [];
  const site = { ...installationAt(data), clock: systemClock, output: recordedOutput(said) };
  const code = await showAudit(site, { json: false, journal: file });
  return { code, said: said.join("\n") };
}

test("an audit reads a copy while the journal is in use, and removes it", async () => {
  const { data } = await journal();
  const { code, said } = await audited(data);
  expect({ code, said }).toEqual({
    code: 0,
    said: expect.stringMatching(/in order payments: 1, steps: [34]/),
  });
  expect(readdirSync(join(data, "run"))).toEqual([]);
  expect(await checkJournal(data)).toMatchObject([{ verdict: "ok" }]);
});

test("a broken rule is reported with order and transaction, by the doctor too", async () => {
  const { at, path, data } = await journal();
  at.close();
  const database = new DatabaseSync(path);
  database.exec("DELETE FROM hand_off");
  database.close();
  const { code, said } = await audited(data, path);
  expect(code).toBe(70);
  expect(said).toMatch(/hand-off-missing: order A-1, transaction [0-9a-f-]{36}: charged/);
  const [finding] = await checkJournal(data);
  expect(finding).toMatchObject({ verdict: "fail", todo: expect.stringContaining("audit") });
});

test("without a journal there is nothing to audit, and the doctor reports nothing", async () => {
  const data = temporaryFolder();
  await expect(audited(data)).rejects.toThrow(ProgramExit);
  expect(await checkJournal(data)).toEqual([]);
  expect(existsSync(join(data, "journal.db"))).toBe(false);
});
