import { createHash } from "node:crypto";

/** Returns a hash of a disk's files: many cuts leave the same disk, which is looked at once. */
export function contentOf(files: ReadonlyMap<string, Buffer>): string {
  const hash = createHash("sha256");
  const inOrder = [...files].sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [path, bytes] of inOrder) hash.update(`${path}\0${bytes.length}\0`).update(bytes);
  return hash.digest("base64");
}
