import { describe, expect, test } from "vitest";
import { systemClock } from "../../../src/shared/time.ts";
import { pathsOf } from "../../../src/tp-manager/http/call.ts";
import { calls } from "../../../src/tp-manager/http/calls/calls.ts";
import { FailureDelay } from "../../../src/tp-manager/http/door/failure-delay.ts";
import { api } from "./rig.ts";

describe("access to the local API", () => {
  test("is refused without the right login and password, and 401 names the scheme", async () => {
    const { app } = await api();
    for (const given of [
      undefined,
      "",
      "Bearer x",
      "Basic",
      "Basic ???",
      `Basic ${btoa("kiosk:wrong")}`,
      `Basic ${btoa("other:secret")}`,
      `Basic ${btoa("kiosk")}`,
    ]) {
      const response = await app.inject({
        url: "/version",
        headers: {
          host: "localhost:8765",
          ...(given === undefined ? {} : { authorization: given }),
        },
      });
      expect([given, response.statusCode]).toEqual([given, 401]);
      expect(response.headers["www-authenticate"]).toMatch(/^Basic/);
      expect(response.json()[0].error.code).toBe("UNAUTHORIZED");
    }
  });

  test("is refused for any host name but this machine's, before authentication", async () => {
    const { call } = await api();
    for (const host of [
      "evil.test",
      "evil.test:8765",
      "localhost:1",
      "localhost",
      "127.0.0.2:8765",
    ]) {
      expect([host, (await call("GET", "/version", undefined, { host })).http]).toEqual([
        host,
        403,
      ]);
    }
    for (const host of ["127.0.0.1:8765", "[::1]:8765", "LOCALHOST:8765"]) {
      expect((await call("GET", "/version", undefined, { host })).http).toBe(200);
    }
  });

  test("is refused to pages of another origin, even of another port of localhost", async () => {
    const { call, at } = await api();
    for (const pair of [
      { origin: "https://evil.test" },
      { origin: "http://localhost:3000" },
      { origin: "null" },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
    ]) {
      const headers = pair as Record<string, string>;
      expect((await call("POST", "/payment", { amount: 1 }, headers)).one.error.code).toBe(
        "ORIGIN_REFUSED",
      );
    }
    expect(at.terminal.paid).toEqual([]);
  });

  test("from the address bar may only read, and is refused to a prefetch", async () => {
    const { call, at } = await api();
    const typed = { "sec-fetch-site": "none", "sec-fetch-mode": "navigate" };
    for (const path of ["/stop", "/%73top", "/stop?now", "/cancel", "/reset", "/tlc"]) {
      const { http, one } = await call("GET", path, undefined, typed);
      expect([path, http, one.error.code]).toEqual([path, 403, "ORIGIN_REFUSED"]);
    }
    for (const path of ["/version", "/check", "/health", "/payments"]) {
      expect([path, (await call("GET", path, undefined, typed)).http]).toEqual([path, 200]);
      const ahead = { ...typed, "sec-purpose": "prefetch" };
      expect([path, (await call("GET", path, undefined, ahead)).http]).toEqual([path, 403]);
    }
    expect(at.arbiter.lease.stopping.aborted).toBe(false);
  });

  test("is open to a listed origin with correct preflights, and to no other origin", async () => {
    const origin = "http://localhost:3000";
    const { call } = await api({ allowedOrigins: [origin] });
    const ask = { origin, "access-control-request-method": "POST", authorization: "" };
    const preflight = await call("OPTIONS", "/payment", undefined, ask);
    expect(preflight.http).toBe(204);
    expect(preflight.headers).toMatchObject({
      "access-control-allow-origin": origin,
      "access-control-allow-headers": "authorization, content-type, last-event-id, prefer",
    });
    const used = await call("GET", "/version", undefined, { origin });
    expect([used.http, used.headers["access-control-allow-origin"]]).toEqual([200, origin]);
    expect(used.headers["access-control-expose-headers"]).toBe(
      "idempotent-replay, next-cursor, location, preference-applied",
    );
    const other = await call("OPTIONS", "/payment", undefined, { ...ask, origin: "http://a.test" });
    expect([other.http, other.headers["access-control-allow-origin"]]).toEqual([403, undefined]);
  });

  test("to figures is all that the pair of METRICS_LOGIN has", async () => {
    const metrics = { login: "metrics", password: "read:me" };
    const operator = { login: "op", password: "op-secret" };
    // The delay of a refusal has tests of its own.
    const failures = Object.assign(new FailureDelay(systemClock), { wait: async () => true });
    const { app } = await api({ metrics, operator, failures });
    const ask = async (method: "GET" | "HEAD" | "POST", url: string, given = "metrics:read:me") => {
      const headers = { host: "localhost:8765", authorization: `Basic ${btoa(given)}` };
      return (await app.inject({ method, url, headers })).statusCode;
    };
    expect([await ask("GET", "/metrics"), await ask("HEAD", "/metrics")]).toEqual([200, 200]);
    expect([200, 503]).toContain(await ask("GET", "/health"));
    expect(await ask("GET", "/metrics", "metrics:read")).toBe(401);
    const others = calls.filter(({ figures }) => !figures);
    expect(others.length).toBe(calls.length - 2);
    for (const record of others) {
      const [path = ""] = pathsOf(record);
      const method = record.reads ? "GET" : "POST";
      expect([path, await ask(method, path.replace(/\{\w+\}/g, "x"))]).toEqual([path, 401]);
    }
    for (const path of ["/nothing", "/metrics/x", "/%6detrics/"]) {
      expect([path, await ask("GET", path)]).toEqual([path, 401]);
    }
    expect(await ask("POST", "/metrics")).toBe(401);
  });

  test("to /stop is refused to the kiosk's pair when the operator has a pair", async () => {
    const { call } = await api({ operator: { login: "op", password: "op-secret" } });
    expect((await call("GET", "/stop")).one.error.code).toBe("OPERATOR_REQUIRED");
    const operator = { authorization: `Basic ${btoa("op:op-secret")}` };
    expect((await call("GET", "/stop", undefined, operator)).http).toBe(200);
  });
});
