import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { assetFile } from "../../../shared/version-files.ts";

/** The files of the page, read once; they are part of the program. */
const read = (name: string): string =>
  readFileSync(assetFile(`tp-manager/http/page/${name}`), "utf8");

export interface Page {
  readonly html: string;
  /** Allows exactly this script and this style, and calls to nobody but us. */
  readonly policy: string;
}

export function loadOperatorPage(): Page {
  const script = read("operator-page.js");
  const style = read("operator-page.css");
  const html = read("operator-page.html")
    .replace("/* style */", () => style)
    .replace("/* script */", () => script);
  const hash = (text: string): string =>
    `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  return {
    html,
    policy: [
      "default-src 'none'",
      `script-src ${hash(script)}`,
      `style-src ${hash(style)}`,
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join("; "),
  };
}
