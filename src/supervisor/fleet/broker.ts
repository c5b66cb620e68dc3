import type { TunnelProxy } from "../../shared/config/proxy.ts";

/**
 * Why a connection to the broker is missing. "failed": no connection, or a broker that stops or
 * falls silent. "refused": the broker answered and refuses this kiosk until something is changed.
 * "closed": the broker closed the connection without a reason; several of these in a row mean a
 * twin. "twin": another client uses the name of this kiosk.
 */
export type LostBecause = "failed" | "refused" | "closed" | "twin";

/** The certificates of a connection, which may be replaced while the kiosk runs. */
export interface BrokerFiles {
  /** The client certificate, in PEM. */
  readonly certificate: string | undefined;
  readonly key: string | undefined;
  readonly trusted: readonly string[];
}

export interface BrokerSettings extends BrokerFiles {
  readonly url: string;
  readonly kiosk: string;
  readonly user: string | undefined;
  readonly password: string | undefined;
  /** The proxy through which the broker is reached; missing: none. */
  readonly proxy?: TunnelProxy | undefined;
  /** Whether the kiosk accepts requests of the fleet (FLEET_COMMANDS). */
  readonly commands: boolean;
  /** The version of MQTT that the broker speaks (FLEET_MQTT); missing: 5. */
  readonly mqtt?: "5" | "3.1.1";
  /** The MQTT keep-alive; the broker publishes the last will after 1.5 times as long a silence. */
  readonly keepAliveSeconds?: number;
}

export interface Outgoing {
  readonly topic: string;
  readonly payload: string;
  readonly retained: boolean;
  /** How long the broker keeps the message; null: until another message replaces it. */
  readonly expirySeconds: number | null;
}

export interface Incoming {
  readonly payload: Buffer;
  /** Whether the broker had stored the message earlier; such a message is no present request. */
  readonly retained: boolean;
}

/** The outcome of sending a message. "refused": the broker will never accept the message. */
export type Sent = "taken" | "refused" | "lost";

export interface BrokerConnection {
  /** How many messages may wait for the broker's PUBACK at the same time. */
  readonly window: number;
  /** Sends a message and resolves with its outcome; never rejects. */
  send(message: Outgoing): Promise<Sent>;
  /** Disconnects in order, so that the broker does not publish the last will. */
  close(): Promise<void>;
}

export interface BrokerListener {
  /** Called once, when the connection is lost; no function of the listener is called later. */
  lost(because: LostBecause, text: string): void;
  received(message: Incoming): void;
}

/** Tries once to connect, within a time limit; rejects if there is no connection. */
export type ConnectToBroker = (
  settings: BrokerSettings,
  will: Outgoing,
  listener: BrokerListener,
) => Promise<BrokerConnection>;

export interface ThreadTask {
  readonly settings: BrokerSettings;
  readonly will: Outgoing;
}

/** A message of the supervisor to the thread; the thread answers "alive" with "alive". */
export type ToThread =
  | { readonly say: "send"; readonly id: number; readonly message: Outgoing }
  | { readonly say: "close" }
  | { readonly say: "alive" };

export type FromThread =
  | { readonly say: "connected"; readonly window: number }
  | { readonly say: "sent"; readonly id: number; readonly sent: Sent }
  | { readonly say: "received"; readonly payload: Uint8Array; readonly retained: boolean }
  | { readonly say: "lost"; readonly because: LostBecause; readonly text: string }
  | { readonly say: "closed" }
  | { readonly say: "alive" };
