import { describe, expect, test } from "vitest";
import { customerMessages } from "../../src/client/customer-messages.ts";
import { axeFaults } from "./axe-faults.ts";
import { haveChromium } from "./chromium.ts";
import { charged, customersOf, styles } from "./kiosk-customers.ts";
import { everyState } from "./pictures.ts";
import { PlayedConnector } from "./played-connector.ts";
import { hardToUse, hiddenParts } from "./readable.ts";

/** A change of the screen, made of the page's own parts. */
const displaying = (change: string) => `(async () => {
  const [{ show }, { say }, { orders }, { customerMessages }] = await Promise.all(
    ["screen", "texts", "orders", "customer-messages"].map((name) => import("/" + name + ".js")));
  const order = { orderId: "T-mi2k3v4x-abcdefgh", name: "airport", amount: 12 };
  const approved = { ...order, isApproved: true };
  const endsMs = performance.now() + 30_000;
  show({ screen: "paying", order, again: null, endsMs, isLost: false, ...(${change}) });
})()`;

/** The screens that no customer of "axe finds nothing on any screen" meets, without the ends. */
const rareScreens = {
  printing: `{ order: approved, message: () => say("printing") }`,
  "the ticket may be out": `{ order: approved, message: () => say("call") }`,
  "the ticket is out, its charge is not known": `{ order: approved, mayLeave: true,
    message: () => customerMessages.unknown.en + "\\n" + order.orderId + "\\n" + say("keep") }`,
  "the connector is away": `{ message: () => say("away") }`,
  "the session is over in a payment": "{ isLost: true }",
  "the session is over": `{ screen: "choose", order: null, isLost: true }`,
  "the list for the staff": `(listed.open = orders.listed.push(
    { ...order, charged: "unknown", mayBeOut: true },
    { ...order, charged: "yes", isDone: true },
    { ...order, charged: "no", delivered: true }) > 0, {})`,
};

describe.skipIf(!haveChromium)("the sample kiosk's rare screens (docs/accessibility.md)", () => {
  const at = new PlayedConnector();
  const kiosk = customersOf(at);

  test("the list for the staff begins in view, and a bar leads through it", async () => {
    const { page, shows, press, buys } = await kiosk({ viewport: { width: 800, height: 480 } });
    await press("Large text");
    for (const last of [false, true]) {
      await buys(/^Airport/);
      at.ends(charged);
      await shows(/Please ask the staff for help\.\s+Order number: T./);
      if (!last) await press("OK");
    }
    const hidden = () => hiddenParts(page, "#listed summary, #listed li:first-child");
    expect(await hidden()).not.toEqual([]);
    await page.locator("#listed summary").click();
    await expect.poll(hidden).toEqual([]);
    const bar = `getComputedStyle(document.documentElement, "::-webkit-scrollbar").width`;
    expect(await page.evaluate(bar)).toBe("30px");
    expect(await hiddenParts(page, "#listed li, #listed button", true)).toEqual([]);
    expect(await hardToUse(page)).toEqual([]);
    // The next customer finds the kiosk as it was.
    await press("OK");
    await shows(/Which ticket would you like/);
    expect(await hiddenParts(page, "#tickets button, #listed summary")).toEqual([]);
    expect(await page.locator("#listed li").first().isVisible()).toBe(false);
  });

  test.skipIf(!everyState).each(styles)(
    "axe finds nothing on a rare screen, nor on any end (%s)",
    async (...aids: string[]) => {
      const { page, shows } = await kiosk({ reducedMotion: "reduce" });
      await shows(/Which ticket would you like/);
      for (const aid of aids) await page.locator(`#aids [name=${aid}]`).click();
      const ends = Object.keys(customerMessages).map((name) => {
        const text = `customerMessages["${name}"].en`;
        return [name, `{ screen: "end", again: order, message: () => ${text} }`] as const;
      });
      for (const [name, change] of [...ends, ...Object.entries(rareScreens)]) {
        await page.evaluate(displaying(change));
        const faults = [...(await axeFaults(page)), ...(await hardToUse(page))];
        expect([name, faults]).toEqual([name, []]);
      }
    },
  );
});
