import { createServer, connect as dial, type Socket } from "node:net";
import { ApduReader, encodeApdu } from "../../src/zvt/index.ts";
import { hasRightCheckDigit } from "./search.ts";

/** The card of the simulated terminal, with E for each masked digit. */
const MASKED = "541333EEEEEE0006";

/** A card number of nobody, which the masked one could be. */
export const terminalPan: string =
  Array.from({ length: 10 }, (_, digit) => MASKED.replace("EEEEEE", `00000${digit}`)).find(
    hasRightCheckDigit,
  ) ?? "";

const tracks = Buffer.concat([
  Buffer.from(`23f1f3${terminalPan}d29122011f`, "hex"),
  Buffer.from("2df4f1", "hex"),
  Buffer.from(`B${terminalPan}^DOE/JOHN^2912201000000000`.padEnd(41, "0")),
]);

/**
 * A line to a simulated ZVT terminal on TCP, at whose end the terminal masks nothing: in each of
 * its messages the masked card number becomes a whole one, and each result also has the tracks 1
 * and 2. `unmasked` counts the changed messages.
 */
export async function unmaskingLine(port: number, terminalPort: () => number) {
  const counts = { unmasked: 0 };
  const sockets = new Set<Socket>();
  const server = createServer((register) => {
    const terminal = dial(terminalPort(), "127.0.0.1");
    const reader = new ApduReader();
    for (const socket of [register, terminal]) {
      sockets.add(socket);
      socket.on("error", () => {});
    }
    register.on("data", (bytes) => terminal.write(bytes));
    register.on("close", () => terminal.destroy());
    terminal.on("close", () => register.destroy());
    terminal.on("data", (bytes) => {
      for (const one of reader.push(bytes)) {
        if (one.event === "garbage") throw new Error("the terminal sent what is no message");
        const data = unmasked(Buffer.from(one.apdu.data));
        if (!data.equals(one.apdu.data)) counts.unmasked += 1;
        const isResult = one.apdu.control === 0x040f;
        const more = isResult && data.includes(terminalPan, 0, "hex") ? [data, tracks] : [data];
        register.write(encodeApdu({ ...one.apdu, data: Buffer.concat(more) }));
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const close = (): void => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  return { counts, close };
}

function unmasked(data: Buffer): Buffer {
  const masked = ["*", "X"].map((mask) => MASKED.replaceAll("E", mask));
  const texts = masked.map((text) => [Buffer.from(text), Buffer.from(terminalPan)] as const);
  const packed = [Buffer.from(MASKED, "hex"), Buffer.from(terminalPan, "hex")] as const;
  const changed = Buffer.from(data);
  for (const [from, to] of [packed, ...texts]) {
    for (let at = changed.indexOf(from); at >= 0; at = changed.indexOf(from, at))
      to.copy(changed, at);
  }
  return changed;
}
