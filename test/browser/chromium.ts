import { existsSync } from "node:fs";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, onTestFinished } from "vitest";

/** Debian's package `chromium`; another one can be named. A browser is never downloaded. */
const candidates = [process.env["CHROMIUM"], "/usr/bin/chromium", "/usr/bin/chromium-browser"];

/** undefined: there is none. */
export const chromiumPath = candidates.find((path) => path !== undefined && existsSync(path));

export const haveChromium = chromiumPath !== undefined;

if (!haveChromium) {
  console.warn("no Chromium: browser tests are skipped (apt-get install chromium)");
}

/**
 * Chromium reads only the last list of features on its command line: the first ones are those that
 * Playwright switches off. The others are pages of the address bar, which each window without a
 * screen loads too: with them a window takes twice the processor time.
 */
const featuresOff = [
  "AvoidUnnecessaryBeforeUnloadCheckSync",
  "DestroyProfileOnBrowserClose",
  "HttpsUpgrades",
  "HttpsFirstBalancedModeAutoEnable",
  "LensOverlay",
  "MediaRouter",
  "PaintHolding",
  "ThirdPartyStoragePartitioning",
  "AvoidCorsURLLoaderRestartOnRedirect",
  "TcpPortRandomizationWin",
  "OptimizationHints",
  "NetworkTimeServiceQuerying",
  "AimEnabled",
  "PreconnectToSearch",
  "SpareRendererForSitePerProcess",
  "WebUIOmniboxPopup",
  "WebUIOmniboxAimPopup",
  "WebUIOmniboxFullPopup",
];

/** Switches the features off, for a Chromium that is started in another way too. */
export const withoutFeatures = `--disable-features=${featuresOff.join()}`;

const switches = [
  withoutFeatures,
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--lang=en-GB",
  "--host-resolver-rules=MAP *.test 127.0.0.1",
];

/** One for all suites of a file that need no switches of their own. */
let shared: Promise<Browser> | undefined;
afterAll(async () => (await shared)?.close());

async function launched(more: readonly string[]): Promise<Browser> {
  // Chromium's sandbox does not work as root.
  const rootSwitches = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  return await chromium.launch({
    executablePath: String(chromiumPath),
    args: [...switches, ...rootSwitches, ...more],
  });
}

/**
 * A headless browser for the tests of a suite, with an empty profile: each of its contexts is apart
 * from all others, and ends with the suite. With switches of its own it is the suite's alone.
 */
export function browserForSuite(more?: () => readonly string[]): () => Browser {
  let browser: Browser | undefined;
  beforeAll(async () => {
    if (!haveChromium) return;
    shared ??= more ? undefined : launched([]);
    browser = await (more ? launched(more()) : shared);
  });
  afterAll(async () => {
    await Promise.all(browser?.contexts().map((context) => context.close()) ?? []);
    if (more) await browser?.close();
  });
  return () => {
    if (!browser) throw new Error("the browser has not been started");
    return browser;
  };
}

/**
 * The page that the tests of a suite use one after the other, each from an empty one on: a window
 * of its own takes as much processor time as several pages that are opened in it.
 */
export function pageForSuite(
  browser: () => Browser,
  options: BrowserContextOptions = {},
): () => Promise<Page> {
  let page: Page | undefined;
  return async () => {
    if (page === undefined || page.isClosed()) {
      page = await (await browser().newContext(options)).newPage();
    }
    const used = page;
    onTestFinished(() => leavePage(used));
    return used;
  };
}

/** Makes a page ready for the next test; `empty` is an address that shows nothing. */
export async function leavePage(page: Page, empty = "about:blank"): Promise<void> {
  page.removeAllListeners();
  await page.emulateMedia({ media: null, colorScheme: null });
  await page.setViewportSize({ width: 1280, height: 720 });
  await page.goto(empty);
}
