import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { api } from "./rig.ts";

test("GET / is one page that needs nothing from elsewhere, under a strict policy", async () => {
  const { call } = await api();
  const { http, headers, text } = await call("GET", "/");
  expect([http, headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
  expect(text).not.toMatch(/https?:|\/\/[a-z]|\bsrc=|\bhref=|\son[a-z]+=|innerHTML/);
  const policy = String(headers["content-security-policy"]);
  expect(policy).toMatch(/^default-src 'none'; script-src 'sha256-/);
  expect(policy).not.toMatch(/unsafe|\*|http/);
  for (const name of ["script", "style"]) {
    const inside = new RegExp(`<${name}>([\\s\\S]*)</${name}>`).exec(text)?.[1] ?? "";
    const hash = createHash("sha256").update(inside).digest("base64");
    expect(inside.length).toBeGreaterThan(100);
    expect(policy).toContain(`'sha256-${hash}'`);
  }
});

test("the page needs credentials", async () => {
  const { call } = await api();
  expect((await call("GET", "/", undefined, { authorization: "" })).http).toBe(401);
});
