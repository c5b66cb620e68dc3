import type { Clock } from "../../../../src/shared/time.ts";
import { BareLine } from "../../../../src/tp-manager/terminal/caisse-ap/bare-line.ts";
import {
  type CaisseApOptions,
  caisseApMessages,
  identification,
} from "../../../../src/tp-manager/terminal/caisse-ap/caisse-ap-messages.ts";
import { BarePeer } from "./bare-peer.ts";
import type { LinePeer } from "./line-peer.ts";
import { type OneWayHouse, oneWayHouse } from "./one-way-house.ts";

export const bareOptions: CaisseApOptions = {
  version: "0300",
  identifier: "012345678901",
  register: "01",
  reference: "CF",
  receipt: true,
};

export const bareMessages = caisseApMessages(bareOptions);

export const bareLineOn = (
  transport: LinePeer["transport"],
  clock: Clock,
  given = bareOptions,
  end = "",
): BareLine => new BareLine(transport, clock, identification(given), Buffer.from(end));

/** A kiosk whose terminal takes bare messages, one connection for each payment. */
export const bareHouse = (
  given = bareOptions,
  end = "",
  path?: string,
): Promise<OneWayHouse<BarePeer>> =>
  oneWayHouse({
    ...(path === undefined ? {} : { path }),
    peer: (clock) => new BarePeer(clock),
    messages: caisseApMessages(given),
    dialogue: ({ transport }, clock) => bareLineOn(transport, clock, given, end),
  });
