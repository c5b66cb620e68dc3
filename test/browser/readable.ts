import type { Page } from "playwright-core";
import { rowsOf } from "../support/run/scope.ts";

/**
 * What makes the page hard to use as it stands: text with too little contrast (WCAG 1.4.3), fields
 * and buttons without a name (4.1.2), targets below 24 pixels (2.5.8), anything cut off at the side
 * (1.4.10). Empty when all is well.
 */
export async function hardToUse(page: Page): Promise<string[]> {
  return (await page.evaluate(source)) as string[];
}

/**
 * The parts that a person does not see whole: outside the window, or under another part.
 * `scrolled`: each of them is scrolled to, as the keyboard does.
 */
export async function hiddenParts(page: Page, parts: string, scrolled = false): Promise<string[]> {
  return (await page.evaluate(`[...document.querySelectorAll(${JSON.stringify(parts)})]
    .filter((part) => {
      if (${scrolled}) part.scrollIntoView({ block: "nearest" });
      const { left, width, top, bottom } = part.getBoundingClientRect();
      const isOnTop = (y) => part.contains(document.elementFromPoint(left + width / 2, y));
      const isInside = width > 0 && top > -1 && bottom < innerHeight + 1;
      return !isInside || ![top + 2, bottom - 2].every(isOnTop);
    })
    .map((part) => part.className + " " + part.textContent.trim())`)) as string[];
}

const source = `(() => {
  const found = [];
  const visible = (element) => element.checkVisibility({ opacityProperty: true });
  const channels = (color) => (color.match(/[\\d.]+/g) ?? []).map(Number);
  const light = ([r, g, b]) => {
    const linear = [r, g, b].map((c) => c / 255)
      .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const over = ([r, g, b, a = 1], under) =>
    [r, g, b].map((c, i) => c * a + under[i] * (1 - a));
  const canvas = document.createElement("div");
  canvas.style.backgroundColor = "Canvas";
  document.body.append(canvas);
  const paper = channels(getComputedStyle(canvas).backgroundColor);
  canvas.remove();
  const backgroundOf = (element) => {
    const chain = [];
    for (let at = element; at; at = at.parentElement) chain.unshift(at);
    return chain.reduce(
      (under, at) => over(channels(getComputedStyle(at).backgroundColor), under), paper);
  };
  const opacity = (element) =>
    element ? Number(getComputedStyle(element).opacity) * opacity(element.parentElement) : 1;
  for (const element of document.body.querySelectorAll("*")) {
    const text = [...element.childNodes].filter((node) => node.nodeType === 3)
      .map((node) => node.textContent.trim()).join(" ").trim();
    if (text === "" || /^(script|style|option)$/i.test(element.tagName)) continue;
    if (!visible(element)) continue;
    const style = getComputedStyle(element);
    const back = backgroundOf(element);
    const [r, g, b, a = 1] = channels(style.color);
    const [bright, dark] =
      [light(over([r, g, b, a * opacity(element)], back)), light(back)].sort((x, y) => y - x);
    const ratio = (bright + 0.05) / (dark + 0.05);
    const large = parseFloat(style.fontSize) >= 24;
    if (ratio < (large ? 3 : 4.5)) found.push("contrast " + ratio.toFixed(1) + ": " + text);
  }
  for (const field of document.querySelectorAll("input, select, textarea, button, a[href]")) {
    if (!visible(field)) continue;
    const labels = [...(field.labels ?? [])].map((label) => label.textContent).join(" ");
    const name = field.ariaLabel || labels.trim() || field.textContent.trim();
    const told = field.tagName + " " + (field.id || name);
    if (!name) found.push("no name: " + told);
    const { width, height } = (field.labels?.[0]?.contains(field) ? field.labels[0] : field)
      .getBoundingClientRect();
    const inText = field.tagName === "A" && getComputedStyle(field).display === "inline";
    if (!inText && (width < 24 || height < 24)) found.push("small: " + told);
  }
  const { scrollWidth } = document.documentElement;
  if (scrollWidth > innerWidth) found.push("wider than the window: " + scrollWidth);
  if (document.documentElement.lang === "") found.push("no language");
  if (document.title === "") found.push("no title");
  if (document.querySelectorAll("main").length !== 1) found.push("not one main part");
  if (document.querySelectorAll("h1").length !== 1) found.push("not one heading");
  return found;
})()`;

/** A desktop screen, in the whole scope an upright kiosk, a phone. */
export const sizes = rowsOf(
  [
    { width: 1280, height: 900 },
    { width: 1080, height: 1920 },
    { width: 375, height: 812 },
  ],
  2,
);

/** The screen of a small kiosk, and a phone. */
export const smallSizes = [
  { width: 800, height: 480 },
  { width: 390, height: 844 },
];
