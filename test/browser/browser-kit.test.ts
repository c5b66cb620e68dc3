import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chromium, type Page } from "playwright-core";
import { describe, expect, onTestFinished, test } from "vitest";
import { projectRoot } from "../../src/shared/version-files.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { startProcess } from "../support/programs/own-processes.ts";
import { chromiumPath, withoutFeatures } from "./chromium.ts";
import { type WebServer, webServer } from "./web-server.ts";

/*
 * The browser kit (docs/browser-kiosk.md 2 and 4): its start script with a real Chromium, and its
 * policies in a Chromium that finds them where an administrator would have put them.
 */

const kit = join(projectRoot, "examples/browser-kit");
/** The machine's own policies stay as they are: a folder of ours covers theirs. */
const havePrivateFolders =
  spawnSync("bwrap", ["--dev-bind", "/", "/", "--tmpfs", "/etc/chromium", "true"], {
    stdio: "ignore",
  }).status === 0;
if (!havePrivateFolders) {
  console.warn("the kit's policies are not tried in Chromium: needs bwrap and /etc/chromium");
}
const rootSwitches = process.getuid?.() === 0 ? ["--no-sandbox"] : [];

function program(path: string, lines: readonly string[]): string {
  writeFileSync(path, `#!/bin/sh\n${lines.join("\n")}\n`);
  chmodSync(path, 0o755);
  return path;
}

/** A page server that remembers what was asked for. */
async function pageServer(asked: string[] = []): Promise<WebServer> {
  const server = await webServer((request, response) => {
    asked.push(request.url ?? "");
    response.setHeader("content-type", "text/html").end("<title>the kiosk</title>");
  });
  onTestFinished(() => server.close());
  return server;
}

test.skipIf(!chromiumPath)(
  "the start script shows the page, and again after a restart",
  async () => {
    const folder = temporaryFolder();
    const asked: string[] = [];
    const { port } = await pageServer(asked);
    mkdirSync(join(folder, "data/run"), { recursive: true });
    const started = join(folder, "data/run/kiosk-started");
    writeFileSync(started, "one");
    const count = join(folder, "count");
    program(join(folder, "launch.sh"), [
      '[ "$1" = kiosk ] || exit 64',
      `echo x >> '${count}'`,
      `echo "http://localhost:${port}/$(wc -l < '${count}')#ticket=t"`,
    ]);
    const given = ["--headless", "--disable-gpu", withoutFeatures, ...rootSwitches].join(" ");
    const browser = program(join(folder, "browser"), [
      `echo "$@" >> '${join(folder, "words")}'`,
      `exec '${chromiumPath}' ${given} "$@"`,
    ]);
    const script = startProcess("sh", [join(kit, "kiosk-browser.sh"), folder], {
      env: { ...process.env, CHROMIUM: browser, PROFILE: join(folder, "profile") },
      stdio: "ignore",
    });
    const ended = new Promise<number | null>((resolve) => script.once("exit", resolve));
    onTestFinished(async () => {
      script.kill("SIGTERM");
      await ended;
    });
    await expect.poll(() => asked).toContain("/1");
    writeFileSync(started, "two");
    await expect.poll(() => asked).toContain("/2");
    // Other users can read a command line.
    expect(readFileSync(join(folder, "words"), "utf8")).not.toContain("ticket=");
    expect(statSync(join(folder, "profile/start.html")).mode & 0o077).toBe(0);
    script.kill("SIGTERM");
    expect(await ended).toBe(0);
  },
);

describe("the watcher of the Windows script", () => {
  /** The watcher with a program in the place of the browser, and what the browser was given. */
  function watched(...lines: readonly string[]) {
    const folder = temporaryFolder();
    const started = join(folder, "kiosk-started");
    const record = join(folder, "seen");
    const browser = program(join(folder, "browser"), [`echo "$$ $#:$1" >> '${record}'`, ...lines]);
    writeFileSync(started, "one");
    const given = [join(kit, "kiosk-watch.mjs"), started, browser, "--kiosk one", "start.html"];
    const watcher = startProcess(process.execPath, given, { stdio: "ignore" });
    const ended = new Promise<number | null>((resolve) => watcher.once("exit", resolve));
    onTestFinished(() => void watcher.kill("SIGTERM"));
    const pids = () =>
      (existsSync(record) ? readFileSync(record, "utf8") : "").match(/^\d+/gm) ?? [];
    return { started, seen: record, watcher, ended, pids };
  }
  const runs = (pid: string | undefined) => existsSync(`/proc/${pid}`);

  test("ends the browser when the connector restarts, and starts no second one", async () => {
    const { started, seen: record, watcher, ended, pids } = watched("exec sleep 600");
    await expect.poll(pids).toHaveLength(1);
    expect(readFileSync(record, "utf8")).toMatch(/^\d+ 2:--kiosk one\n$/);
    expect([watcher.exitCode, runs(pids()[0])]).toEqual([null, true]);
    writeFileSync(started, "two");
    expect(await ended).toBe(0);
    expect([pids().length, runs(pids()[0])]).toEqual([1, false]);
  });

  test("ends when the browser has ended: the script shows the page again", async () => {
    const { ended, pids } = watched("exit 3");
    expect(await ended).toBe(0);
    expect(pids()).toHaveLength(1);
  });

  test("ends the browser when the watcher is stopped", async () => {
    const { watcher, ended, pids } = watched("exec sleep 600");
    await expect.poll(pids).toHaveLength(1);
    watcher.kill("SIGTERM");
    expect(await ended).toBe(0);
    expect(runs(pids()[0])).toBe(false);
  });

  test("ends the browser when the watcher is stopped during its start", async () => {
    const { ended, pids } = watched("kill -TERM $PPID", "exec sleep 600");
    expect(await ended).toBe(0);
    expect(runs(pids()[0])).toBe(false);
  });

  test("says which argument is missing", () => {
    const run = (...given: string[]) => {
      const line = [join(kit, "kiosk-watch.mjs"), ...given];
      const { status, stderr } = spawnSync(process.execPath, line, { encoding: "utf8" });
      return [status, stderr.split("\n")[0]];
    };
    expect(run("started")).toEqual([
      64,
      "usage: node kiosk-watch.mjs STARTED-FILE BROWSER WORDS...",
    ]);
    const refusal = "/not/there cannot be started: spawn /not/there ENOENT";
    expect(run("started", "/not/there")).toEqual([69, refusal]);
  });
});

describe.skipIf(!chromiumPath || !havePrivateFolders)("a Chromium under the kit's policy", () => {
  /** What a page finds in a browser with a policy file of the kit, its lines changed. */
  async function under<T>(
    policy: string,
    change: (text: string) => string,
    use: (page: Page) => Promise<T>,
    more: readonly string[] = [],
  ): Promise<T> {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "etc/policies/managed"), { recursive: true });
    const text = change(readFileSync(join(kit, policy), "utf8"));
    const tools = '"DeveloperToolsAvailability": 2';
    expect(text).toContain(tools);
    // Under this word nobody drives the browser, this test neither.
    const driven = text.replace(tools, '"DeveloperToolsAvailability": 1');
    writeFileSync(join(folder, "etc/policies/managed/kiosk.json"), driven);
    const confined = `bwrap --die-with-parent --dev-bind / / --bind '${folder}/etc' /etc/chromium`;
    const executablePath = program(join(folder, "chromium"), [
      `exec ${confined} '${chromiumPath}' "$@"`,
    ]);
    const names = "--host-resolver-rules=MAP *.example 127.0.0.1";
    const args = ["--disable-gpu", names, ...rootSwitches, ...more];
    // The policy allows no private windows, and an ordinary context is one.
    const profile = join(folder, "profile");
    const browser = await chromium.launchPersistentContext(profile, { executablePath, args });
    try {
      return await use(await browser.newPage());
    } finally {
      await browser.close();
    }
  }

  /** The error of each address; "shown" where there is none. */
  async function visits(page: Page, urls: readonly string[]): Promise<string[]> {
    const record: string[] = [];
    for (const url of urls) {
      // A page of its own: the error page of the one before may still be on its way.
      const tab = await page.context().newPage();
      record.push(
        await tab.goto(url).then(
          () => "shown",
          (error: Error) => /ERR_\w+/.exec(error.message)?.[0] ?? error.message,
        ),
      );
      await tab.close();
    }
    return record;
  }
  const blocked = "ERR_BLOCKED_BY_ADMINISTRATOR";

  test("own pages are shown, and nothing else", async () => {
    const [own, other] = [await pageServer(), await pageServer()];
    const change = (text: string) => text.replace("8768", String(own.port));
    const urls = [
      `http://localhost:${own.port}/`,
      `http://localhost:${other.port}/`,
      `http://elsewhere.example:${own.port}/`,
      "file:///etc/hostname",
      "file:///var/lib/kiosk-browser/start.html",
    ];
    const expected = ["shown", blocked, blocked, blocked, "ERR_FILE_NOT_FOUND"];
    const record = await under("policy-own-pages.json", change, (page) => visits(page, urls));
    expect(record).toEqual(expected);
  });

  test("pages of another origin are shown and reach the connector, and nothing else", async () => {
    const [own, other] = [await pageServer(), await pageServer()];
    const called: string[] = [];
    const connector = await webServer((request, response) => {
      called.push(request.headers.origin ?? "");
      response.setHeader("access-control-allow-origin", "*").end("here");
    });
    onTestFinished(() => connector.close());
    const origin = `http://kiosk.example:${own.port}`;
    const change = (text: string) =>
      text.replaceAll("https://kiosk.example", origin).replace("8765", String(connector.port));
    const without = (text: string) => change(text).replace(/.*"LocalNetworkAccess.*\n/, "");
    // The page's server counts as one of the public network, and its origin as https.
    const fromOutside = [
      `--ip-address-space-overrides=127.0.0.1:${own.port}=public`,
      `--unsafely-treat-insecure-origin-as-secure=${origin}`,
    ];
    const address = `http://localhost:${connector.port}/`;
    const call = `fetch("${address}").then((answer) => answer.text(), String)`;
    const refused = "TypeError: Failed to fetch";
    const elsewhere = `http://elsewhere.example:${other.port}/`;
    const policy = "policy-other-origin.json";
    const use = async (page: Page) => {
      await page.goto(`${origin}/`);
      return [await page.evaluate(call), ...(await visits(page, [elsewhere]))];
    };
    expect(await under(policy, without, use, fromOutside)).toEqual([refused, blocked]);
    expect(called).toEqual([]);
    expect(await under(policy, change, use, fromOutside)).toEqual(["here", blocked]);
    expect(called).toEqual([origin]);
  });
});
