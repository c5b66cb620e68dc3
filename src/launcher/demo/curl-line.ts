import { relative } from "node:path";

/** A curl command that a reader can copy into the shell of this machine. */
interface CurlCall {
  readonly url: string;
  /** Holds login and password, so that no command line and no history does. */
  readonly netrcFile?: string;
  readonly json?: string;
}

export function curlLine({ url, netrcFile, json }: CurlCall): string {
  const words = ["curl", "-s"];
  if (netrcFile !== undefined) words.push("--netrc-file", quote(shortPath(netrcFile)));
  if (json !== undefined) words.push("-H", quote("Content-Type: application/json"));
  if (json !== undefined) words.push("-d", quote(json));
  words.push(/^[\w./:-]+$/.test(url) ? url : quote(url));
  return words.join(" ");
}

function shortPath(path: string): string {
  const short = relative(process.cwd(), path);
  return short.startsWith("..") ? path : short;
}

/** A word of a command line that a reader copies. */
export function quote(text: string): string {
  if (/^[\w./-]+$/.test(text)) return text;
  // cmd.exe knows double quotes only; curl.exe reads \" inside them.
  if (process.platform === "win32") return `"${text.replaceAll('"', '\\"')}"`;
  return `'${text.replaceAll("'", "'\\''")}'`;
}
