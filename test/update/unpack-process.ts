/** Unpacks an archive in a process of its own: `node unpack-process.ts ARCHIVE FOLDER`. */
import { unpack } from "../../src/update/unpack.ts";

const [archive = "", to = ""] = process.argv.slice(2);
await unpack({ archive, to, hasMark: true });
