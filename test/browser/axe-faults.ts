import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";
import { projectRoot } from "../../src/shared/version-files.ts";

/** The script in its small form: each page that is opened parses it anew. */
const axe = readFileSync(join(projectRoot, "node_modules/axe-core/axe.min.js"), "utf8");

/** The rules about colours (cat.color) that axe has switched on. */
const colours = { type: "rule", values: ["color-contrast", "link-in-text-block"] };

/** What axe finds wrong with a page as it stands, by every rule or by those about colours. */
export async function axeFaults(page: Page, rules: "all" | "colours" = "all"): Promise<string[]> {
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe);
  const options = { resultTypes: ["violations"], ...(rules === "colours" && { runOnly: colours }) };
  const { violations } = (await page.evaluate(
    `axe.run(document, ${JSON.stringify(options)})`,
  )) as Pick<AxeResults, "violations">;
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}
