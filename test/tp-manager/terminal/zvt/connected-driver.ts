import { onTestFinished } from "vitest";
import type { Terminal } from "../../../../src/tp-manager/terminal/terminal.ts";
import type { ZvtOptions } from "../../../../src/tp-manager/terminal/zvt/zvt-options.ts";
import { Driver } from "./driver.ts";
import { introduce, type Peer, serialPeer, tcpPeer, withLength } from "./peer.ts";

export const bothLines = [
  ["tcp", tcpPeer],
  ["serial", serialPeer],
] as const;

/** A good 04 0F over 10.00 EUR, receipt 42. */
export const goodSale = withLength(
  "040f00 2700 04000000001000 490978 0b000042 0c101503 0d0115 2952523535 870042 " +
    "22f0f8eeeeeeeeeeee4771 8a06",
);

/** A driver that has connected to a peer; both end with the test. */
export async function connect(
  makePeer: () => Promise<Peer>,
  options: Partial<ZvtOptions> = {},
  play: (peer: Peer) => Promise<void> = (peer) => introduce(peer, [goodSale]),
  before: (terminal: Terminal) => void = () => {},
): Promise<{ peer: Peer; driver: Driver }> {
  const peer = await makePeer();
  const driver = new Driver(peer.transport, options);
  onTestFinished(async () => {
    await driver.terminal.close();
    await peer.close();
  });
  before(driver.terminal);
  driver.terminal.start();
  await play(peer);
  await driver.connected();
  return { peer, driver };
}
