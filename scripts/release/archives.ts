import { createWriteStream, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { create } from "tar";
import { ZipFile } from "yazl";

/** Every file below a folder, sorted by name: archives of the same files are the same bytes. */
function filesIn(folder: string, under: string): string[] {
  return readdirSync(join(folder, under), { recursive: true, encoding: "utf8" })
    .map((file) => join(under, file).replaceAll("\\", "/"))
    .filter((file) => statSync(join(folder, file)).isFile())
    .sort();
}

/** All of `folder/name`; files are of that date, of nobody, and executable or not. */
export async function makeTarGz(
  folder: string,
  name: string,
  to: string,
  date: Date,
): Promise<void> {
  const options = { file: to, cwd: folder, portable: true, mtime: date, gzip: { level: 6 } };
  await create({ ...options, noDirRecurse: true }, filesIn(folder, name));
}

/** The same as a zip file; its format knows even seconds of local time from 1980 on. */
export async function makeZip(folder: string, name: string, to: string, date: Date): Promise<void> {
  const zip = new ZipFile();
  for (const file of filesIn(folder, name)) {
    const mode = statSync(join(folder, file)).mode & 0o111 ? 0o100755 : 0o100644;
    zip.addFile(join(folder, file), file, { mtime: date, mode, forceDosTimestamp: true });
  }
  zip.end();
  await pipeline(zip.outputStream, createWriteStream(to));
}
