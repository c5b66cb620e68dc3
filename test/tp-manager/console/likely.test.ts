import { expect, test } from "vitest";
// @ts-expect-error: the pages' JavaScript is checked by tsconfig.pages.json
import * as pages from "../../../src/tp-manager/console/pages/in-doubt/likely.js";
import { request } from "../../support/house/payment-house.ts";
import { declined, report } from "../../support/terminals/reports.ts";
import {
  disconnected,
  lost,
  type PayScript,
  type ScriptedTerminal,
} from "../../support/terminals/scripted-terminal.ts";
import { api } from "../http/rig.ts";

const { against, likely } = pages;

/** A payment whose line breaks after what the terminal reported; its storage is `last`. */
async function inDoubt(script: PayScript, last?: ScriptedTerminal["last"]) {
  const { at, call } = await api();
  at.terminal.script = script;
  if (last) at.terminal.last = last;
  await call("POST", "/payment", { amount: 9.99, orderId: "A-1" });
  const timeline = async () => (await call("GET", "/story/A-1")).one;
  return { at, timeline };
}

const breaks: PayScript = () => Promise.resolve(lost("line broken"));
const reports =
  (said: ReturnType<typeof report>): PayScript =>
  (_order, observer) => {
    observer.report(said);
    return Promise.resolve(lost("line broken"));
  };

test("while recovery asks, an unchanged storage is no sign of 'not charged'", async () => {
  const { at, timeline } = await inDoubt(breaks);
  for (const passedMs of [0, 20_000, 100_000]) {
    await at.clock.advance(passedMs);
    const found = await timeline();
    expect(found.status).toBe("Unknown");
    expect(likely(found, [])).toEqual({ verdict: "asking", because: "asking" });
  }
  const probed = (await timeline()).attempts[0].events.map(({ kind }: { kind: string }) => kind);
  expect(probed).toContain("recovery-look");
});

test("while it asks, a reported failure is no sign of 'not charged' either", async () => {
  const { at, timeline } = await inDoubt(reports(declined({ amountMinor: 999 })));
  await at.clock.advance(5_000);
  const found = await timeline();
  expect(found.status).toBe("Unknown");
  expect(likely(found, [])).toEqual({ verdict: "asking", because: "asking" });
});

test("an unchanged storage that recovery did not take for a proof decides nothing", async () => {
  const { at, timeline } = await inDoubt(reports(report({ good: false, resultCode: null })));
  await at.clock.advance(400_000);
  const found = await timeline();
  expect(found.status).toBe("Unknown");
  expect(likely(found, [])).toEqual({ verdict: "open", because: "storageSame" });
});

test("after recovery a report decides, but only a clear one", async () => {
  const silent = { kind: "not-told", why: "it keeps nothing" } as const;
  const after = async (said: ReturnType<typeof report>) => {
    const { at, timeline } = await inDoubt(reports(said), silent);
    await at.clock.advance(400_000);
    return likely(await timeline(), []);
  };
  expect(await after(declined())).toEqual({ verdict: "not-charged", because: "badReport" });
  expect(await after(report())).toEqual({ verdict: "charged", because: "goodReport" });
  const unclear = report({ good: false, resultCode: null });
  expect(await after(unclear)).toEqual({ verdict: "open", because: "nothingHeard" });
  const noAmount = report({ amountMinor: null });
  expect(await after(noAmount)).toEqual({ verdict: "open", because: "nothingHeard" });
});

test("the end of a run ends the asking; a repeated request begins it anew", async () => {
  const { at, timeline } = await inDoubt(breaks, { kind: "not-told", why: "it keeps nothing" });
  await at.clock.advance(1_000);
  expect(likely(await timeline(), [])).toMatchObject({ verdict: "open" });
  at.terminal.unavailable = disconnected();
  void at.orders.pay(request("A-1"));
  await at.clock.advance(1_000);
  expect(likely(await timeline(), [])).toEqual({ verdict: "asking", because: "asking" });
});

test("a reversal in doubt says nothing of the sale's own good report", () => {
  const kinds = ["report", "end-completed", "reversal-begins", "end-lost", "recovery-unsettled"];
  const events = kinds.map((kind) => ({ kind, ...(kind === "report" && { report: report() }) }));
  const found = { attempts: [{ baseline: null, events }] };
  expect(likely(found, [])).toEqual({ verdict: "open", because: "reversal" });
});

test("an approval by id speaks against 'not charged', and leaves the outcome open", () => {
  const recalled = { kind: "answered", report: report({ amountMinor: 1_999 }) };
  const events = [
    { kind: "end-lost" },
    { kind: "recovery-look", observation: { last: { kind: "not-told" }, recalled } },
  ];
  const attempts = [
    { number: 1, baseline: null, events },
    { number: 2, baseline: null, events: [{ kind: "report", report: declined() }] },
  ];
  const found = { attempts, settlement: { attempt: 1 } };
  const judged = likely(found, []);
  expect(judged.verdict).toBe("open");
  expect(against(found, judged, "not_charged")).toEqual({ verdict: "open", because: "goodReport" });
  expect(against(found, judged, "charged")).toBe(null);
});

test("a good report speaks against a decision that nothing was charged", async () => {
  const { timeline } = await inDoubt(reports(report()));
  const found = await timeline();
  const judged = likely(found, []);
  expect(judged.verdict).toBe("asking");
  const warned = (outcome: string) => against(found, judged, outcome);
  expect(warned("not_charged")).toEqual({ verdict: "open", because: "goodReport" });
  expect([warned(""), warned("charged")]).toEqual([null, null]);
  const open = { verdict: "open", because: "disagree" };
  expect(against(found, open, "not_charged")).toBe(open);
  const sure = { verdict: "charged", because: "totals" };
  expect(against(found, sure, "reversed")).toBe(sure);
  const { timeline: heard } = await inDoubt(reports(declined()));
  expect(against(await heard(), judged, "not_charged")).toBe(null);
});
