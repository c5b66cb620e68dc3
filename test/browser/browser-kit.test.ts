import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { projectRoot } from "../../src/shared/version-files.ts";
import { startProcess } from "../support/own-processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { chromiumPath } from "./chromium.ts";
import { type WebServer, webServer } from "./web-server.ts";

/* The start script of the browser kit (docs/browser-kiosk.md 2) with a real Chromium. */

const kit = join(projectRoot, "examples/browser-kit");
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
    const given = ["--headless", "--disable-gpu", ...rootSwitches].join(" ");
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
