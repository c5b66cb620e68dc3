import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";
import { afterAll, beforeAll } from "vitest";

/** Debian's package `chromium`; another one can be named. A browser is never downloaded. */
const places = [process.env["CHROMIUM"], "/usr/bin/chromium", "/usr/bin/chromium-browser"];

/** undefined: there is none. */
export const chromiumPath = places.find((path) => path !== undefined && existsSync(path));

export const haveChromium = chromiumPath !== undefined;

if (!haveChromium) {
  console.warn("no Chromium: browser tests are skipped (apt-get install chromium)");
}

const switches = [
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--lang=en-GB",
];

/** One headless browser for all tests of a file, with an empty profile of its own. */
export function browserForFile(more: () => readonly string[] = () => []): () => Browser {
  let browser: Browser | undefined;
  beforeAll(async () => {
    if (!chromiumPath) return;
    // Chromium's sandbox does not work as root.
    const rootSwitches = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
    browser = await chromium.launch({
      executablePath: chromiumPath,
      args: [...switches, ...rootSwitches, ...more()],
    });
  });
  afterAll(() => browser?.close());
  return () => {
    if (!browser) throw new Error("the browser has not been started");
    return browser;
  };
}
