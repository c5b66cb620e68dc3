import type { Browser, BrowserContext, Page } from "playwright-core";
import { expect, onTestFinished } from "vitest";
import { createConsole } from "../../src/tp-manager/console/console.ts";
import type { ApiOptions } from "../../src/tp-manager/http/app.ts";
import { listenOnLoopback } from "../../src/tp-manager/http/door/loopback-server.ts";
import { type House, house } from "../support/house/payment-house.ts";
import { freePort } from "../support/programs/installation.ts";
import { apiOptions } from "../tp-manager/http/rig.ts";
import { axeFaults } from "./axe-faults.ts";
import { leavePage } from "./chromium.ts";
import { everyState, pictured, picturesFolder } from "./pictures.ts";

const operator = { login: "operator", password: "test-operator-password" };

/** The operator's console on a port, on a house of its own. */
export async function consoleHouse(change: Partial<ApiOptions> = {}, at: House = house()) {
  const port = change.port ?? (await freePort());
  const options = apiOptions(at, { operator, ...change, port });
  const server = await listenOnLoopback(createConsole(options), port, options, "CONSOLE_PORT");
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closed ??= server.close();
    return closed;
  };
  onTestFinished(close);
  return { at, port, url: `http://127.0.0.1:${port}`, close };
}

interface PageOptions {
  /** Lets axe into the page. */
  readonly bypassCSP?: boolean;
}

/** The two pages that the tests of a suite use one after the other; one of them lets axe in. */
const shared = new Map<boolean, Page>();

async function sharedPage(browser: Browser, bypassCSP: boolean): Promise<Page> {
  const known = shared.get(bypassCSP);
  if (known && !known.isClosed()) return known;
  const page = await (await browser.newContext({ locale: "en-GB", bypassCSP })).newPage();
  shared.set(bypassCSP, page);
  return page;
}

/**
 * A page of the console, logged in. What an earlier test has left in it belongs to another port,
 * which is another origin; only cookies know no port, and no page of the console sets one.
 */
export async function consolePage(
  browser: Browser,
  url: string,
  { bypassCSP = false }: PageOptions = {},
): Promise<{ readonly page: Page; readonly context: BrowserContext; readonly faults: string[] }> {
  const page = await sharedPage(browser, bypassCSP);
  const context = page.context();
  const { origin } = new URL(url);
  onTestFinished(async () => {
    // A test that has stopped its console has closed the page too.
    if (page.isClosed()) return;
    // A file of the same console: Chromium starts a process for an address of another origin.
    await leavePage(page, `${origin}/icon.svg`);
    await context.clearCookies();
  });
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("console", (message) => {
    // What an earlier test has left in the page may still ask its console, which is gone.
    const { url: from } = message.location();
    const isOurs = from === "" || from.startsWith(origin);
    if (message.type() === "error" && isOurs) faults.push(message.text());
  });
  await page.goto(url);
  await logIn(page);
  return { page, context, faults };
}

/** Logs in with the operator's login, or with another one. */
export async function logIn(page: Page, { login, password } = operator): Promise<void> {
  await page.locator("input[autocomplete=username]").fill(login);
  await page.locator("input[type=password]").fill(password);
  await page.locator("form button[type=submit]").click();
  await page.locator("nav").waitFor();
}

/** Opens the menu of a narrow window, in which a button hides the views and the language. */
export async function openMenu(page: Page): Promise<void> {
  const menu = page.locator("button.menu");
  if ((await menu.getAttribute("aria-expanded")) === "false") await menu.click();
}

const displays = [
  ["light", 1280],
  ["dark", 360],
  ["light", 360],
  ["dark", 1280],
] as const;

/**
 * A view in light and wide, in dark and narrow, and in the whole scope in the other two ways: axe
 * finds nothing, and nothing is cut off. The dark scheme changes colours alone (console.test.ts),
 * so there axe looks at these. In the whole scope axe looks at everything in this way; elsewhere at
 * more of a view in light alone, and not at a further state, which has nothing that axe has not
 * seen in another one. In a run with pictures it is pictured instead, as a
 * view of the console where the name has no other page.
 */
export async function easyForAll(
  page: Page,
  name: string,
  what: "a view" | "more of a view" | "a further state" = "a view",
): Promise<void> {
  if (picturesFolder !== undefined) {
    // Many a house has no supervisor and no updates, so that its lists are refused.
    const refused = /status of 50[13] .*\/api\/(gateway|outbox|update)\b/;
    return await pictured(page, name.includes("/") ? name : `console/${name}`, refused);
  }
  for (const [colorScheme, width] of everyState ? displays : displays.slice(0, 2)) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 900 });
    const isLight = colorScheme === "light";
    const where = [name, colorScheme, width];
    const isChecked = everyState || what === "a view" || (what !== "a further state" && isLight);
    const rules = !isChecked ? "none" : isLight ? "all" : "colours";
    expect([...where, await faultsOfView(page, rules)]).toEqual([...where, []]);
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 1280, height: 900 });
}

async function faultsOfView(page: Page, rules: "all" | "colours" | "none"): Promise<string[]> {
  const wide = (await page.evaluate(
    "document.documentElement.scrollWidth > innerWidth",
  )) as boolean;
  return [
    ...(rules === "none" ? [] : await axeFaults(page, rules)),
    ...(wide ? ["wider than the window"] : []),
    ...(await untranslated(page)),
  ];
}

/**
 * What a page in another language says in English, or as a code, outside of what is marked as such:
 * the connector's own texts (lang="en"), tickets, commands, and names that a person gave.
 */
export async function untranslated(page: Page): Promise<string[]> {
  return (await page.evaluate(`(() => {
    if (document.documentElement.lang === "en") return [];
    const english = /\\b(the|and|of|with|is|nothing|not known)\\b/;
    const code = /^[A-Z]+_[A-Z_]+$|[a-z]-[a-z]+-[a-z]/;
    const found = [];
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const { parentElement: inside, textContent: text } = texts.currentNode;
      if (inside.closest("[lang], code, select, q").matches(":not(html)")) continue;
      if (english.test(text) || code.test(text)) found.push("not translated: " + text.trim());
      if (/\\{\\w+\\}/.test(text)) found.push("without its value: " + text.trim());
    }
    return found;
  })()`)) as string[];
}
