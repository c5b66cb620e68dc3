import { stderr, stdin } from "node:process";

const CONTROL_C = "\u0003";
const ends = new Set(["\r", "\n"]);
const erasers = new Set(["\b", "\u007f"]);

/** The passphrase of a file: `UPDATES_PASSPHRASE`, else asked for without showing it. */
export async function passphraseOf(file: string): Promise<string> {
  const given = process.env["UPDATES_PASSPHRASE"];
  if (given !== undefined) return given;
  if (!stdin.isTTY) throw new Error(`no terminal to ask for the passphrase of ${file}`);
  stderr.write(`passphrase of ${file}: `);
  stdin.setRawMode(true);
  stdin.setEncoding("utf8").resume();
  try {
    return await typed();
  } finally {
    stdin.setRawMode(false);
    stdin.pause();
    stderr.write("\n");
  }
}

function typed(): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const take = (letters: string): void => {
      for (const letter of letters) {
        const isEnd = ends.has(letter);
        if (isEnd || letter === CONTROL_C) {
          stdin.off("data", take);
          if (isEnd) resolve(text);
          else reject(new Error("no passphrase"));
          return;
        }
        text = erasers.has(letter) ? text.slice(0, -1) : text + letter;
      }
    };
    stdin.on("data", take);
  });
}
