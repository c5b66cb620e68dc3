/** Announces itself at the path in its argument, and stays until it is killed. */
import { announcePresence } from "../../../src/shared/process/presence.ts";

announcePresence(process.argv[2] as string);
console.log("announced");
process.stdin.resume();
