import { tmpdir } from "node:os";
import { onTestFinished } from "vitest";
import { createLogger } from "../../../src/shared/process/logger.ts";
import { systemClock } from "../../../src/shared/time.ts";
import type { ApiOptions } from "../../../src/tp-manager/http/app.ts";
import { FailureDelay } from "../../../src/tp-manager/http/door/failure-delay.ts";
import type { SupervisorStatus } from "../../../src/tp-manager/http/status/facts.ts";
import { Monitor } from "../../../src/tp-manager/http/status/monitor.ts";
import { type House, house } from "../../support/house/payment-house.ts";
import { maintenanceForTest } from "./maintenance-for-test.ts";
import { withoutSupervisor } from "./no-supervisor.ts";
import { createWatchedApi } from "./watched-api.ts";

export const supervisorStatus: SupervisorStatus = {
  program: "supervisor",
  version: "1.0.0",
  pid: 1,
  uptimeMs: 1000,
  outbox: { pending: 2, parked: 0, sent: 5, oldestAgeMs: 61_500, paused: null },
  updates: {
    asks: true,
    channel: "beta",
    checkedMs: Date.UTC(2026, 0, 15, 2),
    fault: "too slow",
    freshMs: Date.UTC(2026, 0, 14, 2),
    expiresMs: null,
    ready: "0.2.0",
    heldBy: "anna",
    heldSinceMs: Date.UTC(2026, 0, 14, 8),
    heldUntilMs: Date.UTC(2026, 0, 19),
    stuck: null,
    failed: null,
  },
};

export function monitorOf(
  at: House,
  supervisor: () => Promise<SupervisorStatus> = () => Promise.resolve(supervisorStatus),
): Monitor {
  const { hub, arbiter, journal, handOff, guard, clock } = at;
  const monitor = new Monitor({
    hub,
    arbiter,
    journal,
    handOff,
    guard,
    clock,
    supervisor,
    dataDirectory: tmpdir(),
    choresAt: "03:30",
  });
  onTestFinished(() => monitor.close());
  return monitor;
}

export const authorization = `Basic ${btoa("kiosk:secret")}`;

export function apiOptions(at: House, change: Partial<ApiOptions> = {}): ApiOptions {
  const { orders, listings, arbiter, afterSale, refused, hours } = at;
  return {
    orders,
    listings,
    arbiter,
    afterSale,
    refused,
    ...withoutSupervisor(at),
    days: at.journal.days,
    hours,
    monitor: change.monitor ?? monitorOf(at),
    port: 8765,
    kiosk: { login: "kiosk", password: "secret" },
    operator: undefined,
    allowedOrigins: [],
    failures: new FailureDelay(change.clock ?? systemClock),
    auditEntries: at.journal.auditEntries,
    acknowledged: at.journal.acknowledged,
    maintenance: maintenanceForTest(),
    defaultCurrency: "EUR",
    clock: systemClock,
    log: createLogger({ program: "test", level: "error" }),
    requestStop: () => {},
    ...change,
  };
}

/** The API without a port, on a house of its own. */
export async function api(change: Partial<ApiOptions> = {}, at: House = house()) {
  const app = await createWatchedApi(apiOptions(at, change));
  onTestFinished(() => app.close());
  const call = async (
    method: "GET" | "POST" | "OPTIONS",
    url: string,
    payload?: object | string,
    headers: Record<string, string> = {},
  ) => {
    const response = await app.inject({
      method,
      url,
      headers: { host: "localhost:8765", authorization, ...headers },
      ...(payload === undefined ? {} : { payload }),
    });
    const text = response.body;
    const isJson = String(response.headers["content-type"]).startsWith("application/json");
    const body = isJson ? JSON.parse(text) : undefined;
    return { http: response.statusCode, headers: response.headers, text, body, one: body?.[0] };
  };
  const post = (payload: object | string) =>
    call("POST", "/payment", payload, { "content-type": "application/json" });
  return { app, at, call, post };
}
