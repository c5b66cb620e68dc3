import { connect, type Socket } from "node:net";
import { mapiOf, md5, resultOf } from "./mapi.ts";

/**
 * A program that attacks a notification listener: `attacker.ts PORT PER_SECOND DRIBBLING`. So many
 * junk requests a second, each over a connection of its own, and so many connections that dribble
 * and are opened again when they are cut. Prints how many requests were sent, once a second.
 */
const [port = 0, perSecond = 0, dribbling = 0] = process.argv.slice(2).map(Number);
const HOST = "127.0.0.1";
const TICK_MS = 20;
const DRIBBLE_MS = 100;
const PRINT_MS = 1_000;
/**
 * The most open junk requests: twice what the listener takes of one address, and a quarter of what
 * the system keeps until the listener accepts. Node.js accepts one connection in each turn of its
 * loop; on a starved machine more junk would fill the system's queue for good, and the system would
 * drop a genuine connection's SYN, which is repeated after up to 32 s.
 */
const OPEN_MAX = Math.max(256, 0.75 * perSecond);

const form = (xml: string): string => {
  const body = new URLSearchParams({ xml }).toString();
  return (
    "POST /notify HTTP/1.1\r\nhost: a\r\ncontent-type: application/x-www-form-urlencoded\r\n" +
    `content-length: ${body.length}\r\n\r\n${body}`
  );
};
const forged = form(mapiOf(resultOf(), md5("forged")));
const junk: readonly string[] = [
  forged,
  forged,
  forged,
  form(resultOf()),
  "GET / HTTP/1.1\r\nhost: a\r\n\r\n",
  "no request at all\r\n\r\n",
  `${forged}${forged}`,
  form(`${" ".repeat(20_000)}${resultOf()}`),
];

let sent = 0;
let answered = 0;
let open = 0;

function strike(): void {
  open++;
  const bytes = junk[sent++ % junk.length] ?? "";
  const socket = connect({ port, host: HOST }, () => socket.write(bytes));
  socket.on("data", () => {
    answered++;
    socket.destroy();
  });
  socket.on("error", () => {}).on("close", () => open--);
}

function dribble(): Socket {
  const socket = connect({ port, host: HOST });
  socket.write("POST /notify HTTP/1.1\r\nhost: a\r\nx-slow: ");
  const drip = setInterval(() => socket.write("x"), DRIBBLE_MS);
  socket
    .on("error", () => {})
    .on("close", () => {
      clearInterval(drip);
      setTimeout(dribble, DRIBBLE_MS);
    });
  return socket.resume();
}

for (let i = 0; i < dribbling; i++) dribble();
const beganMs = performance.now();
setInterval(() => {
  const due = ((performance.now() - beganMs) / 1_000) * perSecond - sent;
  for (let i = 0; i < Math.min(due, perSecond / 5) && open < OPEN_MAX; i++) strike();
}, TICK_MS);
setInterval(() => {
  console.log(JSON.stringify({ seconds: (performance.now() - beganMs) / 1_000, sent, answered }));
}, PRINT_MS);
