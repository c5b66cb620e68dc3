import type { BrowserContext } from "playwright-core";
import { onTestFinished } from "vitest";
import { webServer } from "./web-server.ts";

/**
 * A page on another port of `host` sets as many and as long cookies as Chromium keeps, which sends
 * them to every port of it. Answers how long the header is that it sends now, and what the page
 * could read of `address` with them.
 */
export async function floodWithCookies(
  context: BrowserContext,
  host: string,
  address: string,
): Promise<{ readonly cookieBytes: number; readonly read: string }> {
  const server = await webServer((request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><p>x");
  });
  onTestFinished(() => server.close());
  const page = await context.newPage();
  await page.goto(`http://${host}:${server.port}/`);
  const result = await page.evaluate(`(async () => {
    for (let at = 0; at < 180; at += 1) {
      const name = String(at).padStart(3, "0");
      document.cookie = name + "=" + "x".repeat(4093) + ";max-age=9999";
    }
    const read = await fetch(${JSON.stringify(address)}, { credentials: "include" })
      .then((answer) => answer.text(), () => "");
    return { cookieBytes: document.cookie.length, read };
  })()`);
  await page.close();
  return result as { cookieBytes: number; read: string };
}
