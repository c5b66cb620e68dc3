import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { Connections, sourceOf } from "../../../src/shared/ipc/connections.ts";

const from = (remoteAddress: string) => Object.assign(new PassThrough(), { remoteAddress });

/** Which of them are left. */
const left = (sockets: ReadonlyArray<{ destroyed: boolean }>): number[] =>
  sockets.flatMap(({ destroyed }, i) => (destroyed ? [] : [i]));

describe("connections of several sources", () => {
  test("one source never holds more than its limit; its own oldest makes room", () => {
    const connections = new Connections({ total: 8, ofSource: 3 });
    const other = from("192.0.2.1");
    expect(connections.admit(other)).toBe(true);
    const crowd = Array.from({ length: 10 }, () => from("192.0.2.9"));
    for (const socket of crowd) expect(connections.admit(socket)).toBe(true);
    expect([left(crowd), other.destroyed, connections.size]).toEqual([[7, 8, 9], false, 4]);
  });

  test("a new source gets the place of the source that holds most, proven ones apart", () => {
    const connections = new Connections({ total: 6, ofSource: 4 });
    const few = [from("192.0.2.1"), from("192.0.2.1")];
    const many = Array.from({ length: 4 }, () => from("192.0.2.9"));
    for (const socket of [...few, ...many]) connections.admit(socket);
    for (const proven of [0, 1]) connections.trust(many[proven] as PassThrough);
    expect(connections.admit(from("192.0.2.2"))).toBe(true);
    // Two unproven ones each: the source that came first loses its oldest.
    expect([left(few), left(many)]).toEqual([[1], [0, 1, 2, 3]]);
    expect(connections.admit(from("192.0.2.3"))).toBe(true);
    expect([left(few), left(many)]).toEqual([[1], [0, 1, 3]]);
  });

  test("a source whose every connection serves a proven client gets no other", () => {
    const connections = new Connections({ total: 8, ofSource: 1 });
    const socket = from("192.0.2.1");
    connections.admit(socket);
    connections.trust(socket);
    const response = Object.assign(new EventEmitter(), { req: { socket } });
    connections.begin(response as unknown as ServerResponse);
    expect(connections.admit(from("192.0.2.1"))).toBe(false);
    expect(connections.admit(from("192.0.2.2"))).toBe(true);
    response.emit("close");
    expect(connections.admit(from("192.0.2.1"))).toBe(true);
    expect(socket.destroyed).toBe(true);
  });
});

test.each([
  ["192.0.2.1", "192.0.2.1"],
  ["::ffff:192.0.2.1", "192.0.2.1"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
  ["2001:db8:1:2::7", "2001:db8:1:2"],
  ["2001:db8::7", "2001:db8:0:0"],
  ["fe80::1%eth0", "fe80:0:0:0"],
  ["::1", "0:0:0:0"],
  [undefined, ""],
])("the source of %s is %j", (address, source) => {
  expect(sourceOf(address)).toBe(source);
});
