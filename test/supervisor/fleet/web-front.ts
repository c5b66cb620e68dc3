import { createHash } from "node:crypto";
import type { Server } from "node:http";
import { connect } from "node:net";
import type { Duplex } from "node:stream";

const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/** A frame of a websocket as a server sends it: whole, and not masked. */
export function frame(opcode: number, body: Buffer, length = body.length): Buffer {
  const head = Buffer.alloc(length < 126 ? 2 : 4);
  head[0] = 0x80 | opcode;
  head[1] = Math.min(length, 126);
  if (length >= 126) head.writeUInt16BE(length, 2);
  return Buffer.concat([head, body]);
}

/** Puts websockets in front of a broker's port; `answer`: the answer in place of a websocket. */
export function webFront(server: Server, port: number, answer?: string) {
  const asked: string[] = [];
  const open = new Set<Duplex>();
  server.on("upgrade", (request, socket) => {
    const { "sec-websocket-key": key, "sec-websocket-protocol": protocol } = request.headers;
    asked.push(`${request.url} ${protocol}`);
    if (answer !== undefined) return void socket.end(`HTTP/1.1 ${answer}\r\n\r\n`);
    const accept = createHash("sha1").update(`${key}${GUID}`).digest("base64");
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        `Sec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: ${protocol}\r\n\r\n`,
    );
    open.add(socket);
    const onward = connect(port, "127.0.0.1");
    onward.on("data", (bytes) => void socket.write(frame(2, bytes)));
    for (const end of [socket, onward]) {
      // The server of the package http leaves the other half of a connection open.
      end.on("error", () => {}).on("end", () => end.destroy());
      end.on("close", () => {
        socket.destroy();
        onward.destroy();
        open.delete(socket);
      });
    }
    let rest: Buffer = Buffer.alloc(0);
    socket.on("data", (chunk: Buffer) => {
      rest = Buffer.concat([rest, chunk]);
      for (let next = firstFrame(rest); next; next = firstFrame(rest)) {
        rest = rest.subarray(next.size);
        if (next.opcode === 8) socket.end(frame(8, next.body));
        else if (next.opcode <= 2) onward.write(next.body);
      }
    });
  });
  return { asked, open };
}

/** The first frame of a client, which is masked; undefined: it is not whole yet. */
function firstFrame(bytes: Buffer) {
  if (bytes.length < 4) return undefined;
  const isLong = ((bytes[1] ?? 0) & 127) === 126;
  const length = isLong ? bytes.readUInt16BE(2) : (bytes[1] ?? 0) & 127;
  const from = (isLong ? 4 : 2) + 4;
  if (bytes.length < from + length) return undefined;
  const mask = bytes.subarray(from - 4, from);
  const body = bytes.subarray(from, from + length).map((byte, i) => byte ^ (mask[i % 4] ?? 0));
  return { opcode: (bytes[0] ?? 0) & 15, body: Buffer.from(body), size: from + length };
}
