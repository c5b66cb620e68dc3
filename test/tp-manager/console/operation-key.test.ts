import { afterEach, beforeEach, expect, test, vi } from "vitest";
// @ts-expect-error: the pages' JavaScript is checked by tsconfig.pages.json
import { forgetKey, keyOf } from "../../../src/tp-manager/console/pages/views/operation-key.js";

const kept = new Map<string, string>();
beforeEach(() => {
  kept.clear();
  vi.stubGlobal("sessionStorage", {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => void kept.set(name, value),
    removeItem: (name: string) => void kept.delete(name),
  });
});
afterEach(() => void vi.unstubAllGlobals());

const PATH = "/gateway/refund";
const body = { orderId: "A-1", amount: 1.2 };

test("an operation keeps its key until its outcome is known, and then gets a new one", () => {
  const key = keyOf(PATH, body);
  expect(key).toMatch(/^[a-p]{32}$/);
  const answer = (status: number, code: string) => ({ status, body: { error: { code } } });
  const open = answer(409, "GATEWAY_OPERATION_OPEN");
  const others = [400, 401, 403, 408, 429, 431, 500, 503, 504].map((http) => answer(http, "OTHER"));
  for (const one of [open, ...others]) {
    forgetKey(PATH, body, one);
    expect(keyOf(PATH, body)).toBe(key);
  }
  for (const one of [{ status: 200, body: { error: null } }, answer(409, "GATEWAY_REFUSED")]) {
    const before = keyOf(PATH, body);
    forgetKey(PATH, body, one);
    expect(keyOf(PATH, body)).not.toBe(before);
  }
});

test("another sum, order or operation has another key", () => {
  const others = [
    [PATH, { ...body, amount: 1.3 }],
    [PATH, { orderId: "A-1" }],
    [PATH, { ...body, orderId: "A-2" }],
    ["/gateway/cancel", body],
  ] as const;
  const keys = [keyOf(PATH, body), ...others.map(([path, one]) => keyOf(path, one))];
  expect(new Set(keys).size).toBe(keys.length);
});
