import { readFileSync } from "node:fs";
import { conditionTable } from "../../shared/catalog/conditions.ts";
import { errorTable } from "../../shared/catalog/errors.ts";
import { commands, findingTable } from "../../shared/catalog/findings.ts";
import shared from "../../shared/catalog/texts-en.json" with { type: "json" };
import { pageFile } from "../../shared/process/page-packages.ts";
import reasonTexts from "../attempts/reconciliation/reconciliation-en.json" with { type: "json" };

/** The folder of the console's pages below `src`. */
export const pagesFolder = "tp-manager/console/pages";

const textsOf = (name: string): Record<string, string> =>
  JSON.parse(readFileSync(pageFile(`${pagesFolder}/texts/${name}.json`), "utf8"));

/**
 * Returns the English texts of the console's catalogue `part` ("doctor-", or "" for the main one):
 * those of its own file, and from the shared catalogues each sentence that the German file has too.
 */
export function englishTexts(part: string): Record<string, string> {
  const keys = textsOf(`${part}de`);
  const ofCodes = Object.entries(sharedTexts()).filter(([key]) => keys[key] !== undefined);
  return { ...textsOf(`${part}en`), ...Object.fromEntries(ofCodes) };
}

/** Returns the sentences of the shared catalogues by the keys that the pages ask for. */
function sharedTexts(): Record<string, string> {
  const ofErrors = Object.entries(errorTable).map(([code, row]) => {
    const { meaning, action } = { ...row, ...row.console };
    return { [`error.${code}`]: meaning, [`todo.${code}`]: action };
  });
  const ofConditions = Object.entries(conditionTable).map(([name, row]) => ({
    // A page knows the count of a condition, and none of the other values in its text.
    [`condition.${name}`]: /\{(?!count\})/.test(row.says) ? row.when : row.says,
    [`condition.${name}.todo`]: row.console?.todo ?? row.todo,
  }));
  const ofNotes = Object.entries(shared.notes).map(([note, row]) => ({
    [`note.${note}`]: "console" in row ? row.console.says : row.says,
  }));
  const ofFindings = Object.entries(findingTable).map(([code, row]) => ({
    [`finding.${code}`]: row.says,
    [`finding.${code}.todo`]: row.console?.todo ?? row.todo?.replace(commands, "{command}") ?? "",
  }));
  const ofReasons = Object.values(reasonTexts).map((text) => ({ [`because.${text}`]: text }));
  const ofOthers = [...ofNotes, ...ofFindings, ...ofReasons];
  return Object.assign({}, shared.console, ...ofErrors, ...ofConditions, ...ofOthers);
}
