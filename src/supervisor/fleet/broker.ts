/** Why the connection is not there. */
export type LostBecause =
  /** No connection, a refused login, a broker that stops or falls silent. */
  | "failed"
  /** The broker closed the connection without a reason; again and again, it means a twin. */
  | "closed"
  /** Another client has the same name, so that each client ends the connection of the other. */
  | "twin";

/** The address of the broker, and the credentials of the kiosk. */
export interface BrokerSettings {
  readonly url: string;
  readonly kiosk: string;
  readonly user: string | undefined;
  readonly password: string | undefined;
  /** The client certificate, in PEM. */
  readonly certificate: string | undefined;
  readonly key: string | undefined;
  readonly trusted: readonly string[];
  /** Whether the kiosk takes requests of the fleet. */
  readonly commands: boolean;
  /** The keep-alive; the broker publishes the last will after 1.5 times this without a message. */
  readonly keepAliveSeconds?: number;
}

export interface Outgoing {
  readonly topic: string;
  readonly payload: string;
  readonly retained: boolean;
  /** How long the broker keeps the message; null: until it is replaced. */
  readonly expirySeconds: number | null;
}

export interface Incoming {
  readonly payload: Buffer;
  /** The broker kept the message from an earlier time: it is no request of the present. */
  readonly retained: boolean;
}

/** How a message ended. "refused": the broker will never take it. */
export type Sent = "taken" | "refused" | "lost";

/** One connection to the broker, from its acceptance to its end. */
export interface BrokerConnection {
  /** How many messages may be without an acknowledgement at the same time. */
  readonly window: number;
  /** Sends a message and resolves with how it ended; never rejects. */
  send(message: Outgoing): Promise<Sent>;
  /** Ends the connection in order, so that the last will is not published. */
  close(): Promise<void>;
}

export interface BrokerListener {
  /** Called once, when the connection is lost; nothing is called after it. */
  lost(because: LostBecause, text: string): void;
  received(message: Incoming): void;
}

/** Makes one try to connect, within a limit. Rejects when there is no connection. */
export type ConnectToBroker = (
  settings: BrokerSettings,
  will: Outgoing,
  listener: BrokerListener,
) => Promise<BrokerConnection>;

/* Messages between the supervisor and the thread with its connection (docs/fleet.md 4.3). */

/** What the thread gets at its start. */
export interface ThreadTask {
  readonly settings: BrokerSettings;
  readonly will: Outgoing;
}

export type ToThread =
  | { readonly say: "send"; readonly id: number; readonly message: Outgoing }
  | { readonly say: "close" }
  /** A question that is answered with "alive". */
  | { readonly say: "alive" };

export type FromThread =
  | { readonly say: "connected"; readonly window: number }
  | { readonly say: "failed"; readonly text: string }
  | { readonly say: "sent"; readonly id: number; readonly sent: Sent }
  | { readonly say: "received"; readonly payload: Uint8Array; readonly retained: boolean }
  | { readonly say: "lost"; readonly because: LostBecause; readonly text: string }
  | { readonly say: "closed" }
  | { readonly say: "alive" };
