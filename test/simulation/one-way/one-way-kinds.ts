/** What a terminal that cannot be asked does with one request; "none": as it should. */
export const oneWayFaults = [
  "request refused",
  "request lost",
  "request without ACK",
  "line lost after the request",
  "line lost before the result",
  "result after the 504",
  "status 9 alone",
  "status 9 first",
  "another amount",
  "another currency",
  "reference of another order",
  "result within the next payment",
  "result in place of an ACK",
  "result damaged",
  "result sent again",
  "result never sent",
  "result not clear",
] as const;
export type OneWayFault = (typeof oneWayFaults)[number];

/** Such a terminal in one run, and the protocol by which it is reached. */
export interface OneWayKind {
  readonly protocol: "concert" | "caisse-ap";
  /** One connection for each payment, on which alone its result can come. */
  readonly isBare: boolean;
  /** The reply gives the order's reference back. */
  readonly echoes: boolean;
}

/** One request at such a terminal. */
export interface OneWayBehaviour {
  readonly fault: OneWayFault | "none";
  /** The sale is charged; else it is turned away. */
  readonly charges: boolean;
  /** How long what the fault breaks stays broken. */
  readonly ms: number;
}

/** A connection on which alone a bare result can come. */
export interface Connection {
  isOpen: boolean;
}

/** The register's end of the way, as the terminal knows it. */
export interface RegisterEnd {
  /** Its own request has not reached the terminal yet. */
  readonly isSpeaking: boolean;
  /** false: it got no ACK. "newest": the current connection, whatever it was opened for. */
  deliver(reply: Uint8Array, on: Connection | "newest" | undefined): boolean;
  damage(): void;
  broken(ms: number): void;
}
