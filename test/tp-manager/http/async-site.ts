import type { Socket } from "node:net";
import { expect } from "vitest";
import type { ApiOptions } from "../../../src/tp-manager/http/app.ts";
import type { PaymentEnd } from "../../../src/tp-manager/terminal/terminal.ts";
import { PATIENCE_MS } from "../../support/clocks/patience.ts";
import { house } from "../../support/house/payment-house.ts";
import { approves, type PayScript } from "../../support/terminals/scripted-terminal.ts";
import { listening } from "./listening.ts";
import { authorization } from "./rig.ts";

const TIMER = "payment reader";

/** The API on a real socket and the clock of its house, asked with the header Prefer. */
export async function asyncSite(change: Partial<ApiOptions> = {}, at = house()) {
  const site = await listening({ clock: at.clock, ...change }, at);
  const ask = async (path: string, prefer: string, init: RequestInit = {}) => {
    const headers = { ...(prefer && { prefer }), ...(init.headers as Record<string, string>) };
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const response = await site.get(path, { signal, ...init, headers });
    const text = await response.text();
    const [one] = text === "" ? [] : JSON.parse(text);
    return { http: response.status, headers: response.headers, one };
  };
  const post = (body: object, prefer = "respond-async", more: Record<string, string> = {}) =>
    ask("/payment", prefer, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json", ...more },
    });
  const lookUp = (orderId: string, prefer = "", init?: RequestInit) =>
    ask(`/payment/${encodeURIComponent(orderId)}`, prefer, init);
  const waiting = (): number => at.clock.running.filter((name) => name === TIMER).length;
  /** Asks for an order, and returns once the reader waits. */
  const waits = async (orderId: string, prefer = "wait=30") => {
    const before = waiting();
    const answer = lookUp(orderId, prefer);
    await expect.poll(waiting).toBe(before + 1);
    return { answer };
  };
  /** A lookup that is cut off while it waits. */
  const leaves = async (orderId: string, prefer = "wait=30"): Promise<void> => {
    const gone = Promise.withResolvers<void>();
    site.app.server.once("connection", (one: Socket) => one.once("close", () => gone.resolve()));
    const head = [
      `GET /payment/${orderId} HTTP/1.1`,
      `Host: 127.0.0.1:${site.port}`,
      `Authorization: ${authorization}`,
      `Prefer: ${prefer}`,
    ];
    const before = waiting();
    const { socket } = site.raw([...head, "", ""].join("\r\n"));
    await expect.poll(waiting).toBe(before + 1);
    socket.destroy();
    await gone.promise;
    await expect.poll(waiting).toBe(before);
  };
  const unread = (): readonly string[] => at.journal.answers.unreadCharges()?.orderIds ?? [];
  return { ...site, post, lookUp, waiting, waits, leaves, unread };
}

export type AsyncSite = Awaited<ReturnType<typeof asyncSite>>;

/** Payments that stop at the terminal until the test ends them. */
export function heldPayments({ at }: Pick<AsyncSite, "at">) {
  let end = Promise.withResolvers<PaymentEnd | "approves">();
  const script: PayScript = async (order, observer, paid) => {
    const how = await end.promise;
    return how === "approves" ? approves(order, observer, paid) : how;
  };
  at.terminal.script = script;
  return {
    /** The running payment ends; the next one is held again. */
    ends: (how: PaymentEnd | "approves" = "approves"): void => {
      end.resolve(how);
      end = Promise.withResolvers();
    },
  };
}
