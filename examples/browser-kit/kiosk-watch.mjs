// Shows a page in the browser until the browser ends, or the connector was started anew: then its
// session is over. For kiosk-browser.cmd, run by the connector's own Node runtime.
// usage: node kiosk-watch.mjs STARTED-FILE BROWSER WORDS...
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";

const [, , startedFile, browser, ...words] = process.argv;
const LOOK_EVERY_MS = 500;

if (startedFile === undefined || browser === undefined) {
  console.error("usage: node kiosk-watch.mjs STARTED-FILE BROWSER WORDS...");
  process.exit(64);
}

/** @param {string} file */
function contentOf(file) {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return ""; // the connector was never started
  }
}

const before = contentOf(startedFile);
// Before the browser is there: a signal that comes while it starts has to end it too.
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => child.kill());
const child = spawn(browser, words, { stdio: "ignore" });
const timer = setInterval(() => {
  if (contentOf(startedFile) !== before) child.kill();
}, LOOK_EVERY_MS);
child.once("error", ({ message }) => {
  clearInterval(timer);
  console.error(`${browser} cannot be started: ${message}`);
  process.exitCode = 69;
});
child.once("exit", () => clearInterval(timer));
