import { describe, expect, test } from "vitest";
import { parseFault } from "../../../../src/simulator/gateway/faults.ts";
import { TestClock } from "../../../support/clocks/test-clock.ts";
import { merchantForTest } from "../merchant-for-test.ts";
import { eventually, generate, orderBody, sandboxForTest } from "../sandbox-for-test.ts";

test("latency delays the answer and nothing else", async () => {
  const clock = new TestClock();
  const sandbox = await sandboxForTest({ clock, faults: [{ kind: "latency", delayMs: 700 }] });
  const answered = generate(sandbox);
  await eventually(() => clock.running).toEqual(["fault latency"]);
  await clock.advance(699);
  expect(sandbox.orders()).toEqual([]);
  await clock.advance(1);
  expect((await answered).result["code"]).toBe("0");
});

describe("a connection that ends without an answer:", () => {
  for (const end of ["hang", "reset"] as const) {
    for (const [when, stored] of [["before", 0] as const, ["after", 1] as const]) {
      test(`${end} ${when} commit leaves ${stored} orders`, async () => {
        const sandbox = await sandboxForTest();
        sandbox.addFault({ kind: `${end}-${when}-commit`, times: 1 });
        const given = new AbortController();
        const answered = fetch(`${sandbox.url}/soap/payment-v2`, {
          method: "POST",
          body: orderBody,
          headers: { "content-type": "text/xml" },
          signal: given.signal,
        }).then(
          () => "answered",
          () => "failed",
        );
        const faults = async () =>
          (await (await fetch(`${sandbox.url}/sandbox/faults`)).json()) as unknown[];
        await eventually(faults).toEqual([]);
        await eventually(() => sandbox.orders().length).toBe(stored);
        if (end === "hang") {
          expect(await Promise.race([answered, faults()])).toEqual([]);
          given.abort();
        }
        expect(await answered).toBe("failed");
        const { result } = await generate(sandbox);
        expect(result["code"]).toBe("0");
        expect(sandbox.orders()).toHaveLength(stored + 1);
        expect(sandbox.orders()[0]?.requests).toBe(2);
      });
    }
  }
});

describe("a wrong answer:", () => {
  const cases = [
    { kind: "error-500", status: 500, words: /<SOAP-ENV:Fault>/, stored: 0 },
    { kind: "error-500-empty", status: 500, words: /^$/, stored: 0 },
    { kind: "unavailable-503", status: 503, words: /unavailable/, stored: 0 },
    { kind: "not-found-404", status: 404, words: /not-found/, stored: 0 },
    { kind: "malformed-xml", status: 200, words: /^<\?xml(?!.*Envelope>$)/s, stored: 1 },
    { kind: "wrong-code", status: 200, words: /<code>9<\/code>/, stored: 0 },
  ] as const;
  for (const { kind, status, words: message, stored } of cases) {
    test(kind, async () => {
      const sandbox = await sandboxForTest({ faults: [{ kind, times: 1 }] });
      const response = await fetch(`${sandbox.url}/soap/payment-v2`, {
        method: "POST",
        body: orderBody,
        headers: { "content-type": "text/xml" },
      });
      expect(response.status).toBe(status);
      expect(await response.text()).toMatch(message);
      expect(response.headers.get("retry-after")).toBe(kind === "unavailable-503" ? "30" : null);
      expect(sandbox.orders()).toHaveLength(stored);
      expect((await generate(sandbox)).result["code"]).toBe("0");
    });

    test(`${kind} with commit says that much and stores the order`, async () => {
      const sandbox = await sandboxForTest({ faults: [{ kind, commit: true }] });
      const response = await fetch(`${sandbox.url}/soap/payment-v2`, {
        method: "POST",
        body: orderBody,
        headers: { "content-type": "text/xml" },
      });
      expect([response.status, sandbox.orders().length]).toEqual([status, 1]);
    });
  }
});

test("faults are set, listed, counted down and cleared while the sandbox runs", async () => {
  const sandbox = await sandboxForTest();
  const url = `${sandbox.url}/sandbox/faults`;
  const set = (body: unknown) => fetch(url, { method: "POST", body: JSON.stringify(body) });
  const listed = async () => (await (await fetch(url)).json()) as { kind: string }[];
  expect((await set({ kind: "wrong-code", code: 4, times: 2 })).status).toBe(200);
  expect((await set([{ kind: "not-found-404" }, { kind: "latency", delayMs: 0 }])).status).toBe(
    200,
  );
  expect((await listed()).map(({ kind }) => kind)).toEqual([
    "wrong-code",
    "not-found-404",
    "latency",
  ]);
  expect((await generate(sandbox)).result["code"]).toBe("4");
  expect((await generate(sandbox)).result["code"]).toBe("4");
  expect((await generate(sandbox)).status).toBe(404);
  expect((await fetch(url, { method: "DELETE" })).status).toBe(200);
  expect(await listed()).toEqual([]);
  expect((await generate(sandbox)).result["code"]).toBe("0");
});

test("a fault that names an order lets the requests of all others pass", async () => {
  const fault = parseFault("wrong-code:code=4,times=1,merchantReference=2");
  const sandbox = await sandboxForTest({ faults: [fault] });
  const codes: Array<string | undefined> = [];
  for (const merchantReference of ["1", undefined, "2", "2"]) {
    codes.push((await generate(sandbox, { merchantReference })).result["code"]);
  }
  expect(codes).toEqual(["0", "0", "4", "0"]);
});

test("a fault that names an order strikes its operations and notifications only", async () => {
  const merchant = await merchantForTest();
  const faults = ["notification-twice", "capture-nok"].map((kind) =>
    parseFault(`${kind}:merchantReference=2`),
  );
  const sandbox = await sandboxForTest({ autoPay: true, faults });
  let received = 0;
  for (const [merchantReference, notified] of Object.entries({ 1: 2, 2: 4, 3: 2 })) {
    received += notified;
    await generate(sandbox, { urlCallback: merchant.url, merchantReference });
    await eventually(() => merchant.received.length).toBe(received);
  }
  const states = sandbox.orders().map(({ merchantReference, state }) => [merchantReference, state]);
  expect(Object.fromEntries(states)).toEqual({ 1: "captured", 2: "authorized", 3: "captured" });
});

test("a fault that does not exist is refused with a readable reason", async () => {
  const sandbox = await sandboxForTest();
  const url = `${sandbox.url}/sandbox/faults`;
  const ofLookup = '{"kind":"lookup-refused","merchantReference":"2"}';
  const speed = '{"kind":"latency","speed":1}';
  for (const body of ['{"kind":"explode"}', speed, ofLookup, "[{}]", "{", ""]) {
    const response = await fetch(url, { method: "POST", body });
    expect([body, response.status]).toEqual([body, 400]);
    expect(await response.json()).toEqual({ error: expect.stringMatching(/\w{4}/) });
  }
  expect(await (await fetch(url)).json()).toEqual([]);
});

test("closing the sandbox ends requests that hang", async () => {
  const sandbox = await sandboxForTest({ faults: [{ kind: "hang-after-commit" }] });
  const answered = generate(sandbox).then(
    () => "answered",
    () => "failed",
  );
  await eventually(() => sandbox.orders().length).toBe(1);
  await sandbox.close();
  expect(await answered).toBe("failed");
});

test("closing the sandbox ends requests that are delayed", async () => {
  const sandbox = await sandboxForTest({ faults: [{ kind: "latency", delayMs: 3_600_000 }] });
  const answered = generate(sandbox).then(
    () => "answered",
    () => "failed",
  );
  const reading = async () => (await (await fetch(`${sandbox.url}/sandbox/orders`)).json()) as [];
  expect(await Promise.race([answered, reading()])).toEqual([]);
  await sandbox.close();
  expect(await answered).toBe("failed");
});

test("a fault is read in the form of the command line", () => {
  expect(parseFault("latency:delayMs=20,times=3")).toMatchObject({
    kind: "latency",
    delayMs: 20,
    times: 3,
  });
  expect(parseFault("error-500:commit=true,operation=generate")).toMatchObject({ commit: true });
  expect(() => parseFault("latency:delayMs=soon")).toThrow(/delayMs/);
});
