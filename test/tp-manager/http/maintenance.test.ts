import { rmSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { installationAt, versionNumber } from "../../../src/shared/program/installation.ts";
import { setupText } from "../../shared/config/setup-text.ts";
import { temporaryFolder } from "../../support/files/temporary-folder.ts";
import { approves } from "../../support/terminals/scripted-terminal.ts";
import { maintenanceForTest } from "./maintenance-for-test.ts";
import { api } from "./rig.ts";

describe("maintenance", () => {
  test("/version joins number, type and system with hyphens", async () => {
    const { one } = (await (await api()).call("GET", "/version")) as {
      one: Record<string, string>;
    };
    expect(one["version"]).toBe(`${versionNumber}-tpa-${one["os"]}`);
    expect(one["type"]).toBe("tpa");
    // Only a delivery has a publisher.
    expect(one).not.toHaveProperty("supportedUntil");
  });

  test("/backup makes one copy for all who ask, for an operator only", async () => {
    const runs: string[] = [];
    const copy = { path: "/data/backup/x", madeAt: "2026-01-15T12:00:00.000Z", bytes: 9 };
    let ended = { stdout: JSON.stringify(copy), stderr: "", code: 0 };
    const launcher = async (args: readonly string[]) => {
      runs.push(args.slice(0, -2).join(" "));
      return await Promise.resolve(ended);
    };
    const operator = { login: "boss", password: "of-the-terminal" };
    const authorization = `Basic ${btoa("boss:of-the-terminal")}`;
    const { call } = await api({
      operator,
      maintenance: maintenanceForTest(undefined, { launcher }),
    });
    expect((await call("POST", "/backup")).one.error?.code).toBe("OPERATOR_REQUIRED");
    const ask = () => call("POST", "/backup", undefined, { authorization });
    const [one, other] = await Promise.all([ask(), ask()]);
    expect([one.one, runs]).toMatchObject([{ status: "Success", copy }, ["backup --json"]]);
    expect(other.one).toEqual(one.one);
    ended = {
      stdout: "",
      stderr: "no copy was made in /data/backup: the disk is full\n",
      code: 69,
    };
    expect((await ask()).one).toMatchObject({
      copy: null,
      message: "no copy was made in /data/backup: the disk is full",
    });
  });

  test("/settings shows no default as set when the setup file cannot be read", async () => {
    const operator = { login: "boss", password: "of-the-terminal" };
    const authorization = `Basic ${btoa("boss:of-the-terminal")}`;
    const folder = temporaryFolder();
    const { call } = await api({ operator, maintenance: maintenanceForTest(folder) });
    rmSync(installationAt(folder).configFile, { force: true });
    const { http, one } = await call("GET", "/settings", undefined, { authorization });
    expect([http, one.error?.code]).toEqual([500, "INTERNAL"]);
    writeFileSync(installationAt(folder).configFile, "LOCAL_PORT = 8765");
    const { body } = await call("GET", "/settings", undefined, { authorization });
    expect(body).toContainEqual(expect.objectContaining({ name: "LOCAL_PORT", state: "set" }));
  });

  test("/settings names the origin of each value, and hides secrets with theirs", async () => {
    const folder = temporaryFolder();
    const { call } = await api({ maintenance: maintenanceForTest(folder) });
    const { configFile } = installationAt(folder);
    const text = setupText({ LOCAL_PORT: "8765", NOTIFICATION_PORT: "8766", LOGDAYS: "9" });
    writeFileSync(configFile, text);
    const { body } = await call("GET", "/settings");
    const named = new Map(body.map((one: { name: string }) => [one.name, one]));
    const lineOf = (name: string) =>
      1 + text.split("\n").findIndex((line) => line.startsWith(`${name}=`));
    const displayed = (name: string) => {
      const { value, state, default: usual, origin } = named.get(name) as Record<string, unknown>;
      return { value, state, default: usual, origin };
    };
    const inFile = (name: string) => ({ default: null, origin: `${configFile}:${lineOf(name)}` });
    expect(displayed("LOCAL_PORT")).toEqual({
      value: "8765",
      state: "set",
      ...inFile("LOCAL_PORT"),
    });
    const secret = { value: null, state: "hidden", ...inFile("TERMINAL_MANAGER_PWD") };
    expect(displayed("TERMINAL_MANAGER_PWD")).toEqual(secret);
    const typo = { value: null, state: "unknown", ...inFile("LOGDAYS") };
    expect(displayed("LOGDAYS")).toEqual(typo);
    const unset = { value: null, state: "default" };
    expect(displayed("LOG_DAYS")).toEqual({ ...unset, default: "30", origin: "default" });
    expect(displayed("CONSOLE_PORT")).toEqual({ ...unset, default: "8767", origin: "derived" });
    expect(displayed("KIOSK_APP")).toEqual({ ...unset, default: null, origin: "none" });
    writeFileSync(configFile, `${text}\nCONSOLE_PORT=9000\n`);
    const again = (await call("GET", "/settings")).body as Array<Record<string, unknown>>;
    const given = again.find(({ name }) => name === "CONSOLE_PORT");
    expect([given?.["value"], given?.["state"], given?.["default"]]).toEqual([
      "9000",
      "set",
      "8767",
    ]);
  });

  test("/config shows the terminal's identity and the version", async () => {
    const { one } = await (await api()).call("GET", "/config");
    expect(one).toMatchObject({
      serialNumber: "SN-1",
      deviceId: "test terminal",
      terminalId: "52500001",
      terminalVersion: "1.0",
      version: `${versionNumber}-tpa-${one["os"]}`,
      type: "tpa",
    });
  });

  test("/check asks the terminal, except while a payment runs", async () => {
    const { call, at } = await api();
    expect((await call("GET", "/check")).one).toMatchObject({
      cr: "0",
      card: "0",
      call: "0",
      periph: "0",
    });
    expect(at.terminal.checks).toBe(1);
    const { promise, resolve } = Promise.withResolvers<void>();
    at.terminal.script = async (order, observer) => {
      await promise;
      return approves(order, observer);
    };
    const attempt = call("POST", "/", { amount: 1 });
    await expect.poll(() => at.arbiter.lease.current).toBeDefined();
    expect((await call("GET", "/check")).one.cr).toBe("1");
    expect(at.terminal.checks).toBe(1);
    resolve();
    await attempt;
  });

  test("/cancel says that nothing runs, by GET and by POST", async () => {
    const { call } = await api();
    for (const method of ["GET", "POST"] as const) {
      const { http, one } = await call(method, "/cancel");
      expect([http, one.error.code]).toEqual([409, "NOTHING_TO_CANCEL"]);
    }
  });

  test("/stop answers at once and payments are refused from then on", async () => {
    const stops: string[] = [];
    const { call, post } = await api({ requestStop: (why) => stops.push(why) });
    const { one } = await call("GET", "/stop");
    expect(one).toMatchObject({ status: "Success", accepted: true, stopped: true });
    expect((await post({ amount: 1 })).one.error.code).toBe("STOPPING");
    await expect.poll(() => stops).toEqual(["/stop"]);
  });

  test("a wrong method gets 405 with what is allowed, a wrong path 404", async () => {
    const { call } = await api();
    const wrong = await call("GET", "/payment");
    expect([wrong.http, wrong.headers["allow"]]).toEqual([405, "POST"]);
    expect((await call("GET", "/nothing")).one.error.code).toBe("NOT_FOUND");
  });
});
