import type { BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished } from "vitest";
import { browserForSuite, haveChromium } from "./chromium.ts";
import type { PlayedConnector } from "./played-connector.ts";

export const declined = {
  status: "Declined",
  error: { code: "PAYMENT_DECLINED", charged: "no", retry: "safe" },
};
export const unknown = {
  status: "Unknown",
  error: { code: "PAYMENT_UNKNOWN", charged: "unknown", retry: "same_order" },
};
export const paid = { status: "Success", error: null };
/** An order that was charged, of which this kiosk has handed out nothing. */
export const charged = {
  status: "Failed",
  error: { code: "ANOTHER", charged: "yes", retry: "never" },
};
export const approved = { status: "Approved", error: null };
export const unconfirmed = {
  status: "Cancelled",
  error: { code: "DELIVERY_UNCONFIRMED", charged: "no", retry: "never" },
};

/** The aids with which every screen is checked: none, high contrast, large text. */
export const styles: string[][] = [[], ["contrast"], ["large"]];

/** A dispenser that takes no time. */
export const dispenser = `
  const out = new Set();
  export const handOut = async (orderId) => Boolean(out.add(orderId));
  export const wasHandedOut = async (orderId) => out.has(orderId);
  export const forget = async (orderId) => void out.delete(orderId);
`;

/** Runs the connector of a suite; returns what opens a kiosk for each test. */
export function customersOf(at: PlayedConnector) {
  const browser = browserForSuite();
  beforeAll(() => (haveChromium ? at.start() : undefined));
  afterAll(() => at.stop());

  /** A customer in front of a kiosk that has just been opened. */
  async function kiosk(options: BrowserContextOptions = {}, prepare = (_: Page): unknown => null) {
    const fresh = {
      isReady: true,
      isAway: false,
      running: null,
      lookup: unknown,
      losesDeliveries: false,
      lateDelivery: undefined,
      files: { "dispenser.js": dispenser },
    };
    Object.assign(at, fresh);
    const context = await browser().newContext(options);
    onTestFinished(() => context.close());
    const page = await context.newPage();
    await prepare(page);
    // The stream of a page that is still open, or has just been closed, is not that of this one.
    const { followers } = at;
    await page.goto(at.url);
    const shows = (expected: RegExp) =>
      expect.poll(() => page.locator("main").innerText()).toMatch(expected);
    const press = (name: string | RegExp) =>
      page.getByRole("button", { name, exact: true }).click();
    const focused = () => page.evaluate("document.activeElement.id || document.activeElement.name");
    const buys = async (name: string | RegExp) => {
      const before = at.payments.length;
      await press(name);
      await expect.poll(() => at.payments.length).toBe(before + 1);
    };
    await expect.poll(() => at.followers).toBeGreaterThan(followers);
    const since = at.deliveries.length;
    const reported = () => at.deliveries.slice(since).map(({ delivered }) => delivered);
    return { page, shows, press, focused, buys, reported };
  }

  return kiosk;
}
