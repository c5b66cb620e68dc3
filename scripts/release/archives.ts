import { createWriteStream, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { create, type WriteEntry } from "tar";
import { ZipFile } from "yazl";

/** Every file below a folder, sorted by name: archives of the same files are the same bytes. */
function filesIn(folder: string, under: string): string[] {
  return readdirSync(join(folder, under), { recursive: true, encoding: "utf8" })
    .map((file) => join(under, file).replaceAll("\\", "/"))
    .filter((file) => statSync(join(folder, file)).isFile())
    .sort();
}

/** The mode of a file, by its name alone: that on the disk depends on who builds, and where. */
const modeOf = (file: string): number => (/(\.sh|\/node)$/.test(file) ? 0o755 : 0o644);

/** All of `folder/name`; files are of that date, of nobody, and executable or not. */
export async function makeTarGz(
  folder: string,
  name: string,
  to: string,
  date: Date,
): Promise<void> {
  const setMode = (entry: WriteEntry): void => {
    if (entry.stat) entry.stat.mode = modeOf(entry.path);
  };
  const options = { file: to, cwd: folder, portable: true, mtime: date, gzip: { level: 6 } };
  await create({ ...options, noDirRecurse: true, onWriteEntry: setMode }, filesIn(folder, name));
}

/** The same as a zip file, whose format knows even seconds from 1980 on; they are of UTC. */
export async function makeZip(folder: string, name: string, to: string, date: Date): Promise<void> {
  const zip = new ZipFile();
  const mtime = new Date(Math.max(date.getTime(), Date.UTC(1980, 0, 2)));
  const zone = process.env["TZ"];
  process.env["TZ"] = "UTC"; // the library writes local time
  try {
    for (const file of filesIn(folder, name)) {
      const options = { mtime, mode: 0o100000 | modeOf(file), forceDosTimestamp: true };
      zip.addFile(join(folder, file), file, options);
    }
  } finally {
    if (zone === undefined) delete process.env["TZ"];
    else process.env["TZ"] = zone;
  }
  zip.end();
  await pipeline(zip.outputStream, createWriteStream(to));
}
