/**
 * Started by `run-folder.ts` with the folder of a run. The end of its input is the end of the run,
 * be it by SIGKILL: what is left of the run then is ended and removed.
 */
import { reap } from "./reap.ts";

const [folder] = process.argv.slice(2);
process.stdin.resume().once("close", () => {
  if (folder) reap(folder);
});
