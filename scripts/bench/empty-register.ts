/**
 * A cash register that does nothing but answer on a serial line, for scripts/bench-line.ts:
 *   node scripts/bench/empty-register.ts LINE ANSWERS DATABASE
 * ANSWERS is a JSON array of what to answer, again and again: after how many bytes, with which
 * bytes (hex), and whether a synced commit comes before. It has the same package for serial lines
 * as the connector.
 */
import { DatabaseSync } from "node:sqlite";
import { SerialPort } from "serialport";
import type { Answer } from "./slow-line.ts";

const [, , path = "", text = "", file = ""] = process.argv;
const answers = JSON.parse(text) as Answer[];
const database = new DatabaseSync(file);
database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE one (row TEXT)");
const insert = database.prepare("INSERT INTO one VALUES (?)");

const port = new SerialPort({ path, baudRate: 9600 });
let [heard, next] = [0, 0];
port.on("data", (bytes: Buffer) => {
  heard += bytes.length;
  const answer = answers[next];
  if (!answer || heard < answer.after) return;
  if (answer.isStored) insert.run(text);
  port.write(Buffer.from(answer.hex, "hex"));
  heard = 0;
  next = (next + 1) % answers.length;
});
port.on("open", () => process.stdout.write("open\n"));
