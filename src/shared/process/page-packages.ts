import { join } from "node:path";
import { assetFile, isBundled, projectRoot } from "../version-files.ts";

/**
 * The files of packages that pages load: the path below `src` that pages name, and the path below
 * node_modules. A bundle has copies at the paths below `src`.
 */
export const packageFiles: Readonly<Record<string, string>> = {
  "simulator/terminal/page/vendor/htm-preact.js": "htm/preact/standalone.module.js",
  "tp-manager/console/pages/vendor/htm-preact.js": "htm/preact/standalone.module.js",
  "tp-manager/console/pages/vendor/uplot.css": "uplot/dist/uPlot.min.css",
  "tp-manager/console/pages/vendor/uplot.js": "uplot/dist/uPlot.esm.js",
};

/** Returns the path of the file that a page loads by the name `path` below `src`. */
export function pageFile(path: string): string {
  const inPackage = packageFiles[path];
  if (inPackage === undefined || isBundled) return assetFile(path);
  return join(projectRoot, "node_modules", inPackage);
}
