import type { IncomingHttpHeaders } from "node:http";
import type { BrowserContext, Page } from "playwright-core";
import { expect, onTestFinished } from "vitest";
import { isWhole, rowsOf } from "../support/run/scope.ts";
import { webServer } from "./web-server.ts";

/** Everything that a page can try against another origin; returns what the page could read. */
const attack = (base: string, script: string): string => `(async () => {
  const read = [];
  const tried = async (name, work) => {
    try {
      const found = await work();
      if (found) read.push([name, found]);
    } catch {}
  };
  const limit = { signal: AbortSignal.timeout(3000) };
  const headers = { authorization: "Bearer guessed", "act-name": "x", "act-reason": "x" };
  const tries = [];
  for (const path of ["/api/health", "/session", "/api/reset", "/"]) {
    for (const method of ["GET", "POST", "DELETE"]) {
      for (const mode of ["cors", "no-cors"]) {
        tries.push(tried(method + path + mode, () =>
          fetch("${base}" + path, { method, mode, credentials: "include", ...limit })
            .then((answer) => answer.text())));
      }
    }
    tries.push(tried("own " + path, () => fetch("${base}" + path, { headers, ...limit })
      .then((answer) => answer.text())));
  }
  await Promise.all(tries);
  const event = (target, good, bad) => new Promise((resolve) => {
    target["on" + good] = (event) => resolve(String(event.data ?? good));
    target["on" + bad] = () => resolve("");
    setTimeout(resolve, 500, "");
  });
  await tried("events", () => event(new EventSource("${base}/api/events",
    { withCredentials: true }), "message", "error"));
  await tried("socket", () =>
    event(new WebSocket("${base}/api/events".replace("http", "ws")), "open", "error"));
  const framed = (attributes) =>
    document.body.appendChild(Object.assign(document.createElement("iframe"), attributes));
  for (const path of ["/api/reset", "/api/tlc", "/session"]) {
    // A frame has the name that it is put in with; for another one the form opens a window.
    const frame = framed({ name: "target" + path });
    const form = document.body.appendChild(document.createElement("form"));
    Object.assign(form, { method: "post", action: "${base}" + path, target: frame.name });
    form.submit();
    await event(frame, "load", "error");
  }
  const frame = framed({ src: "${base}/" });
  await event(frame, "load", "error");
  await tried("frame", () => frame.contentDocument?.body?.innerText);
  await tried("script", () => import("${base}/${script}").then(() => "loaded"));
  return read;
})()`;

/** What forms in windows post to: each of them from one host, in the whole scope from all. */
const posted = ["/api/reset", "/api/tlc", "/session"];

/** Posts a form into a window of its own, as only a whole page can be asked for. */
const formInWindow = (action: string): string => `{
  const form = document.body.appendChild(document.createElement("form"));
  Object.assign(form, { method: "post", action: ${JSON.stringify(action)}, target: "_blank" });
  form.submit();
}`;

/**
 * Attacks a server with the pages of others, all at once, in a browser that has a session there:
 * another port of the session's own host name, another host unless `from` leaves it to the whole
 * scope, which also tries another port of this machine's other name. `script` is a file of the
 * server; `isEmpty` waits until a window that the attacker has opened shows nothing of the session.
 * Answers what the pages could read, and the headers that their own server was sent.
 */
export async function besieged(
  context: BrowserContext,
  url: string,
  script: string,
  isEmpty: (copy: Page) => Promise<unknown>,
  from: "every host" | "its own host" = "every host",
): Promise<{ readonly read: unknown[]; readonly sent: readonly IncomingHttpHeaders[] }> {
  const sent: IncomingHttpHeaders[] = [];
  const attacker = await webServer((request, response) => {
    sent.push(request.headers);
    request.resume();
    response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><p>x");
  });
  onTestFinished(() => attacker.close());
  const at = new URL(url);
  const names = isWhole ? ["127.0.0.1", "localhost"] : [at.hostname];
  const hosts = isWhole || from === "every host" ? [...names, "evil.test"] : names;
  const read = await Promise.all(
    hosts.map(async (host) => {
      const other = await context.newPage();
      await other.goto(`http://${host}:${attacker.port}/`);
      // On the same host name the two are one site: only the port distinguishes them.
      const name = host === "evil.test" ? at.hostname : host;
      const base = `http://${name}:${at.port}`;
      const found = (await other.evaluate(attack(base, script))) as unknown[];
      const window = async (work: string) => {
        const opened = other.waitForEvent("popup");
        await other.evaluate(work);
        return await opened;
      };
      for (const path of rowsOf(posted, 2, hosts.indexOf(host))) {
        const answer = await window(formInWindow(base + path));
        await answer.waitForURL(base + path);
        await answer.close();
      }
      // A window that the attacker opens has the session's origin, but none of its storage.
      const copy = await window(`void open(${JSON.stringify(at.href)})`);
      await isEmpty(copy);
      await copy.close();
      await other.close();
      return found.map((one) => [host, one]);
    }),
  );
  expect(sent.length).toBeGreaterThanOrEqual(hosts.length);
  return { read: read.flat(), sent };
}
