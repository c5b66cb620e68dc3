import { describe, expect, test } from "vitest";
import { Credentials, isOurHost } from "../../../src/tp-manager/http/door/access.ts";

const headerOf = (text: string): string => `Basic ${Buffer.from(text).toString("base64")}`;
const kiosk = { login: "kiosk", password: "secret" };
const operator = { login: "operator", password: "other" };

describe("a header that is known without being decoded", () => {
  test("names its role", () => {
    const both = new Credentials(kiosk, operator);
    expect(both.roleOfHeader(headerOf("kiosk:secret"))).toBe("kiosk");
    expect(both.roleOfHeader(headerOf("operator:other"))).toBe("operator");
    expect(new Credentials(kiosk, undefined).roleOfHeader(headerOf("operator:other"))).toBe(
      undefined,
    );
    const figures = new Credentials(kiosk, undefined, operator);
    expect(figures.roleOfHeader(headerOf("operator:other"))).toBe("metrics");
    expect(figures.roleOf("kiosk", "other")).toBe(undefined);
    const unusual = { login: "k\u00e4se \u{1f9c0}", password: ":a:b:" };
    expect(new Credentials(unusual, undefined).roleOfHeader(headerOf("käse 🧀::a:b:"))).toBe(
      "kiosk",
    );
    const long = { login: "a", password: "x".repeat(500) };
    expect(new Credentials(long, undefined).roleOfHeader(headerOf(`a:${long.password}`))).toBe(
      "kiosk",
    );
  });

  test.each([
    undefined,
    "",
    "Basic",
    headerOf("kiosk:secre"),
    headerOf("kiosk:secrets"),
    headerOf("kiosk:other"),
    headerOf("operator:secret"),
    `${headerOf("kiosk:secret")}\0`,
    `${headerOf("kiosk:secret")} `,
    headerOf("kiosk:secret").toLowerCase(),
    headerOf(`kiosk:${"x".repeat(600)}`),
    "\xff".repeat(512),
    "\uffff".repeat(512),
    `${headerOf("kiosk:secret").slice(0, -1)}\u0130`, // its low byte is the one that is missing
  ])("is not %j", (header) => {
    expect(new Credentials(kiosk, operator).roleOfHeader(header)).toBe(undefined);
  });

  test.each([
    { login: "a:b", password: "c" }, // read as the login a
    { login: "a\n", password: "c" }, // refused by every reader
    { login: "a", password: "\u007f" },
  ])("is never made of %j", ({ login, password }) => {
    const credentials = new Credentials({ login, password }, undefined);
    expect(credentials.roleOfHeader(headerOf(`${login}:${password}`))).toBe(undefined);
    expect(credentials.roleOf(login, password)).toBe("kiosk");
  });
});

test("a host that was right once makes no other one right", () => {
  const isOurs = (host: string | undefined) => isOurHost(host, 8_765);
  const asked = ["127.0.0.1:8765", "evil.test:8765", undefined, "localhost:8765", "127.0.0.1:1"];
  const expected = [true, false, false, true, false];
  expect([...asked, ...asked].map(isOurs)).toEqual([...expected, ...expected]);
});
