import { rmSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { ErrorCode } from "../../src/shared/catalog/errors.ts";
import { exitCodes } from "../../src/shared/process/exit-codes.ts";
import { englishTexts } from "../../src/tp-manager/console/english-texts.ts";
import german from "../../src/tp-manager/console/pages/texts/de.json" with { type: "json" };
import spanish from "../../src/tp-manager/console/pages/texts/es.json" with { type: "json" };
import french from "../../src/tp-manager/console/pages/texts/fr.json" with { type: "json" };
import italian from "../../src/tp-manager/console/pages/texts/it.json" with { type: "json" };
import { TerminalUnavailable } from "../../src/tp-manager/terminal/terminal.ts";
import { pay, request } from "../support/house/payment-house.ts";
import { report } from "../support/terminals/reports.ts";
import { disconnected, lost } from "../support/terminals/scripted-terminal.ts";
import { expectConditions, openFaces } from "./condition-faces.ts";

/** The console's own sentences. */
const pages: ReadonlyArray<Readonly<Record<string, string>>> = [
  englishTexts(""),
  german,
  french,
  italian,
  spanish,
];

type Faces = Awaited<ReturnType<typeof openFaces>>;

const other = { serialNumber: "SN-2", terminalId: "99999999", deviceId: "", version: "1.0" };
const inMenu = { cr: "1", card: "0", call: "0", periph: "0", detail: "please wait" } as const;
const ready = { cr: "0", card: "0", call: "0", periph: "0", detail: "ready" } as const;
const locked = { cr: "2", card: "0", call: "0", periph: "2", detail: "no paper" } as const;

/** What keeps a payment from being taken, and the answer that one gets. */
const situations: Record<
  string,
  { code: ErrorCode; cr: string; make: (at: Faces["at"]) => void | Promise<void> }
> = {
  "no link": {
    code: "TERMINAL_DISCONNECTED",
    cr: "9",
    make(at) {
      at.terminal.become({ link: "disconnected", linkProblem: "unplugged" });
      at.terminal.unavailable = disconnected();
    },
  },
  "out of order": {
    code: "TERMINAL_OUT_OF_ORDER",
    cr: "2",
    make(at) {
      at.terminal.become({ status: locked });
      at.terminal.unavailable = new TerminalUnavailable("out-of-order", "no paper");
      at.terminal.check = () => Promise.resolve(locked);
    },
  },
  "not registered yet": {
    code: "TERMINAL_DISCONNECTED",
    cr: "9",
    make(at) {
      at.terminal.become({ link: "registering", linkProblem: null });
      at.terminal.unavailable = disconnected();
    },
  },
  "a person in the terminal's own menu": {
    code: "TERMINAL_BUSY",
    cr: "1",
    make(at) {
      at.terminal.become({ status: inMenu });
      at.terminal.unavailable = new TerminalUnavailable("busy", "please wait");
      at.terminal.check = () => Promise.resolve(inMenu);
    },
  },
  "another terminal": {
    code: "TERMINAL_CHANGED",
    cr: "2",
    make(at) {
      at.arbiter.identityCheck.accept();
      at.terminal.become({ identity: other });
      at.terminal.baseline = { ...at.terminal.baseline, identity: other };
    },
  },
  "an order in doubt": {
    code: "TERMINAL_IN_DOUBT",
    cr: "2",
    async make(at) {
      at.terminal.script = () => Promise.resolve(lost("line broken"));
      void pay(at, request("A-1"));
      await expect.poll(() => at.arbiter.inquiries.blockedBy).toBe("A-1");
    },
  },
  "a sale that no order asked for": {
    code: "TERMINAL_IN_DOUBT",
    cr: "2",
    make(at) {
      at.start();
      at.terminal.emit({ type: "unmatched-report", report: report() });
    },
  },
  "a disk that takes no writes": {
    code: "STORAGE_FAILED",
    cr: "2",
    make: (at) => at.journal.database.exec("PRAGMA query_only = 1"),
  },
  "a journal whose file was deleted": {
    code: "STORAGE_FAILED",
    cr: "2",
    make: (at) => rmSync(at.path),
  },
  "a new version on probation": {
    code: "UPDATING",
    cr: "2",
    make(at) {
      Object.defineProperty(at.probation, "isOn", { value: true });
    },
  },
  "a journal gap, and a supervisor that does not report its orders": {
    code: "STORES_DISAGREE",
    cr: "2",
    make(at) {
      at.supervisor.reachable = false;
      at.guard.begin("was lost", false);
    },
  },
  "a line that is open, and a terminal that does not answer": {
    code: "TERMINAL_NO_ANSWER",
    cr: "9",
    async make(at) {
      at.terminal.unavailable = new TerminalUnavailable("no-answer", "not a word");
      const { body } = await pay(at, request("A-1"));
      expect(body.error?.code).toBe("TERMINAL_NO_ANSWER");
    },
  },
  "a line that is open, and no terminal on it": {
    code: "TERMINAL_DISCONNECTED",
    cr: "9",
    async make(at) {
      at.terminal.unavailable = new TerminalUnavailable("disconnected", "refused by the host");
      await pay(at, request("A-1"));
    },
  },
  "a stop": { code: "STOPPING", cr: "2", make: (at) => at.arbiter.lease.close() },
};

describe("what a payment would be answered is what every face shows", () => {
  test.each(Object.entries(situations))("%s", async (_name, { code, cr, make }) => {
    const faces = await openFaces();
    const { call, at } = faces;
    await make(at);
    const displayed = await faces.faces();
    expect([displayed.http, displayed.health.status]).toEqual([503, "NotReady"]);
    const [says] = displayed.health.reasons;
    expect(displayed.health.reasons).toHaveLength(1);
    expect(displayed.metrics).toContain("connector_terminal_ready 0");
    expect(displayed.status.well).toBe(false);
    expect(displayed.exitCode).toBe(exitCodes.unavailable);
    expect(displayed.rows.some((row) => row.includes(`payments bad refused ${says} -> `))).toBe(
      true,
    );
    const failed = displayed.findings.filter(({ verdict }) => verdict === "fail");
    expect(failed).toMatchObject([{ check: "terminal", says }]);
    expect(pages.filter((texts) => !texts[`error.${code}`] || !texts[`todo.${code}`])).toEqual([]);
    const { one: checked } = await call("GET", "/check");
    expect(checked.cr).toBe(cr);
    expect(says).toContain(checked.detail);
    const paid = await call("POST", "/payment", { amount: 9.99, orderId: "NEW" });
    expect(paid.one.error.code).toBe(code);
    expect(at.journal.attempts.decisive("NEW")?.state.phase ?? "not-charged").toBe("not-charged");
  });

  test("a read-only disk is shown without a payment, as long as it lasts", async () => {
    const faces = await openFaces();
    const { at, call } = faces;
    expect((await faces.faces()).health.status).toBe("Ready");
    at.journal.database.exec("PRAGMA query_only = 1");
    expect((await faces.faces()).health.status).toBe("Ready"); // proved a moment ago
    await at.clock.advance(60_000);
    const { health } = await faces.faces();
    expect(health.obstacles).toMatchObject([{ code: "STORAGE_FAILED" }]);
    expect(health.reasons[0]).toContain("cannot be written: it is read-only");
    await faces.watchFor(120_000);
    expect((await faces.faces()).measured).toEqual(["journal-unwritable"]);
    const refused = await call("POST", "/payment", { amount: 9.99, orderId: "NEW" });
    expect([refused.http, refused.one.error.charged]).toEqual([503, "no"]);
    expect(at.journal.attempts.decisive("NEW")).toBeUndefined();
    at.journal.database.exec("PRAGMA query_only = 0");
    const paid = await call("POST", "/payment", { amount: 9.99, orderId: "NEW" });
    expect(paid.one.status).toBe("Success"); // whatever the faces had last seen
    expect((await faces.faces()).health.reasons).toEqual([]);
  });

  test.each([
    ["a message of the terminal", (at: Faces["at"]) => at.terminal.become({ status: ready })],
    ["a good answer to /check", (at: Faces["at"]) => at.arbiter.lastAnswer.ask()],
    ["a minute", (at: Faces["at"]) => at.clock.advance(60_000)],
  ])("that the terminal did not answer is shown no more after %s", async (_name, ends) => {
    const faces = await openFaces();
    const { at } = faces;
    at.terminal.unavailable = new TerminalUnavailable("no-answer", "not a word");
    await pay(at, request("A-1"));
    expect((await faces.faces()).health.obstacles).toMatchObject([{ code: "TERMINAL_NO_ANSWER" }]);
    at.terminal.unavailable = undefined;
    await ends(at);
    expect((await faces.faces()).health.reasons).toEqual([]);
  });

  test("a supervisor that is down refuses no payment, and the status shows it", async () => {
    const faces = await openFaces();
    await faces.stopSupervisor();
    const displayed = await faces.faces();
    expect([displayed.health.reasons, displayed.health.status]).toEqual([[], "Ready"]);
    expect([displayed.status.well, displayed.measured]).toEqual([false, ["supervisor-silent"]]);
    expect(displayed.metrics).toContain("connector_terminal_ready 1");
    const paid = await faces.call("POST", "/payment", { amount: 9.99, orderId: "NEW" });
    expect(paid.one.status).toBe("Success");
  });

  test("a supervisor that cannot write refuses no payment; every face shows it", async () => {
    const faces = await openFaces();
    const { rig, at, call } = faces;
    rig.database.exec("PRAGMA query_only = 1");
    const health = await expectConditions(faces, ["queue-unwritable"]);
    expect(health.troubles[0].says).toContain("cannot be written: it is read-only");
    await faces.watchFor(60_000);
    const { findings, exitCode, metrics } = await faces.faces();
    const finding = { check: "queue", code: "queue-unwritable", verdict: "fail" };
    expect(findings).toContainEqual(expect.objectContaining(finding));
    expect(metrics).toContain("connector_terminal_ready 1");
    expect(exitCode).toBe(exitCodes.ok);
    const paid = await call("POST", "/payment", { amount: 9.99, orderId: "NEW" });
    expect(paid.one.status).toBe("Success");
    rig.database.exec("PRAGMA query_only = 0");
    await Promise.all([rig.clock.advance(60_000), at.clock.advance(60_000)]);
    await expectConditions(faces, []);
  });

  test("an import that the supervisor answers refuses no payment of a new order", async () => {
    const { faces, call, at } = await openFaces();
    const { link } = at.supervisor;
    const answer = link.call.bind(link);
    const first = { orders: [], last: 1, more: true, whole: true };
    let pages = 0;
    /** The supervisor answers the first page of its orders, and the second one never. */
    link.call = ((name: "known-orders", asked: Parameters<typeof answer>[1]) => {
      if (name !== "known-orders" || "orderId" in asked) return answer(name, asked as never);
      pages += 1;
      return pages > 1 ? new Promise(() => {}) : Promise.resolve(first);
    }) as typeof link.call;
    at.guard.begin("was lost", false);
    expect((await faces()).health.obstacles).toMatchObject([{ code: "STORES_DISAGREE" }]);
    await at.clock.advance(0);
    expect([pages, at.guard.open?.isImported]).toEqual([2, false]);
    const displayed = await faces();
    expect([displayed.health.status, displayed.health.reasons]).toEqual(["Ready", []]);
    const paid = await call("POST", "/payment", { amount: 9.99, orderId: "NEW" });
    expect(paid.one.status).toBe("Success");
  });

  test("without a reason: ready, and the payment is taken", async () => {
    const faces = await openFaces();
    const displayed = await faces.faces();
    expect([displayed.health.reasons, displayed.exitCode]).toEqual([[], exitCodes.ok]);
    expect(displayed.metrics).toContain("connector_terminal_ready 1");
    expect((await faces.call("GET", "/check")).one.cr).toBe("0");
    const paid = await faces.call("POST", "/payment", { amount: 9.99, orderId: "NEW" });
    expect(paid.one.status).toBe("Success");
  });

  test.each([
    ["no link", "terminal-disconnected"],
    ["out of order", "terminal-out-of-order"],
    ["another terminal", "terminal-changed"],
  ])("%s raises its alarm after a grace, once, as long as it lasts", async (name, alarm) => {
    const faces = await openFaces();
    const { at } = faces;
    const before = at.terminal.state;
    await situations[name]?.make(at);
    await faces.watchFor(30_000);
    expect(faces.alarms()).toEqual([]);
    await faces.watchFor(60_000);
    await faces.watchFor(60_000);
    expect(faces.alarms()).toEqual([alarm]);
    const { health, measured } = await faces.faces();
    expect(measured).toEqual([alarm]);
    expect(health.alarms).toMatchObject([{ alarm, trouble: { trouble: alarm } }]);
    at.terminal.become(before);
    expect((await faces.faces()).health.alarms).toEqual([]);
  });
});
