import { describe, expect, test } from "vitest";
import { browserForSuite, haveChromium, pageForSuite } from "./chromium.ts";
import { unusable } from "./pictures.ts";

const style = `
  @keyframes blink { 50% { opacity: 0; } }
  body { margin: 0; height: 2000px; }
  button { display: block; }
  .dull { outline: none; }
  .out { position: absolute; left: -300px; }
  .blinking { animation: blink 1s infinite; }
  .wide { width: 3000px; }
  footer { position: fixed; inset: 200px 0 0; background: grey; }`;

describe.skipIf(!haveChromium)("what keeps a page from being used", () => {
  const emptyPage = pageForSuite(browserForSuite());

  test("each fault of motion, width, focus and order is found, and nothing else", async () => {
    const page = await emptyPage();
    const content = (body: string) => page.setContent(`<style>${style}</style>${body}`);
    await content(`<button>One</button>
      <label><input type="radio" name="a"> A</label><label><input type="radio" name="a"> B</label>
      <input type="date"><button disabled>Two</button><button autofocus>Three</button>`);
    expect(await unusable(page)).toEqual([]);
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Three");
    await content(`<button class="dull">Dull</button><button class="out">Out</button>
      <button style="position: fixed; top: 195px">Edge</button><footer>Foot</footer>
      <p class="blinking">Blinks</p><p class="wide">Wide</p>
      <input aria-label="Trap" onkeydown="event.preventDefault()"><button>Last</button>`);
    expect(await unusable(page)).toEqual([
      "moves: blink",
      "wider than the window: 3000",
      "no visible focus: button Dull",
      "outside of the window: button Out",
      "under footer Foot: button Edge",
      "not reached by Tab: button Last",
    ]);
    await content(`<button>Outside</button><dialog><button>Inside</button></dialog>`);
    await page.evaluate(`document.querySelector("dialog").showModal()`);
    expect(await unusable(page)).toEqual([]);
  });
});
