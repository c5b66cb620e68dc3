import { describe, expect, test } from "vitest";
import { referenceOf } from "../../../../src/tp-manager/attempts/reference-policy.ts";
import { concertMessages } from "../../../../src/tp-manager/terminal/concert/concert-messages.ts";
import { type OneWayHouse, oneWayHouse } from "./one-way-house.ts";
import { ACK, ENQ, EOT, NAK, replyHex, SessionPeer } from "./session-peer.ts";

const messages = concertMessages({ variant: "e-plus", register: "01", report: true });
const concertHouse = (): Promise<OneWayHouse<SessionPeer>> =>
  oneWayHouse({ peer: (clock) => new SessionPeer(clock), messages });

interface BadTerminal {
  readonly does: string;
  readonly with: (peer: SessionPeer) => void;
  readonly end: string;
  /** The truth at the bank. */
  readonly charged: boolean;
  /** How often the request was sent; 1 if missing. */
  readonly sends?: number;
  readonly alarm?: string;
  /** The phase after a while. */
  readonly later?: string;
}

const damaged = (hex: string): string => hex.slice(0, -2) + (hex.endsWith("7f") ? "7e" : "7f");
const parity = (hex: string): string =>
  Buffer.from(
    Buffer.from(hex, "hex").map((byte) =>
      byte.toString(2).replaceAll("0", "").length % 2 === 1 ? byte | 0x80 : byte,
    ),
  ).toString("hex");

const terminals: readonly BadTerminal[] = [
  { does: "approves", with: () => {}, end: "Success", charged: true },
  {
    does: "refuses",
    with: (peer) => {
      peer.change = { status: "7" };
    },
    end: "Declined",
    charged: false,
  },
  {
    does: "refuses with an amount of zero",
    with: (peer) => {
      peer.change = { status: "7", amountMinor: 0 };
    },
    end: "Declined",
    charged: false,
  },
  {
    does: "is silent at ENQ",
    with: (peer) => {
      peer.onEnq = () => "";
    },
    end: "Failed",
    charged: false,
    sends: 0,
  },
  {
    does: "answers NAK to every ENQ",
    with: (peer) => {
      peer.onEnq = () => NAK;
    },
    end: "Failed",
    charged: false,
    sends: 0,
  },
  {
    does: "answers NAK to the first two ENQ",
    with: (peer) => {
      peer.onEnq = (count) => (count < 3 ? NAK : ACK);
    },
    end: "Success",
    charged: true,
  },
  {
    does: "answers ENQ with another parity",
    with: (peer) => {
      peer.onEnq = () => "95";
    },
    end: "Failed",
    charged: false,
    sends: 0,
  },
  {
    does: "answers NAK to every frame",
    with: (peer) => {
      peer.onRequest = () => NAK;
      peer.onPaid = () => {};
    },
    end: "Failed",
    charged: false,
    sends: 3,
  },
  {
    does: "answers NAK to one frame",
    with: (peer) => {
      peer.onRequest = (count) => (count < 2 ? NAK : ACK);
    },
    end: "Success",
    charged: true,
    sends: 2,
  },
  {
    does: "is silent after the frame and charges nothing",
    with: (peer) => {
      peer.onRequest = () => "";
      peer.onPaid = () => {};
    },
    end: "Unknown",
    charged: false,
  },
  {
    does: "is silent after the frame and charges all the same",
    with: (peer) => {
      peer.onRequest = () => "";
    },
    end: "Success",
    charged: true,
  },
  {
    does: "closes the session instead of ACK to the frame",
    with: (peer) => {
      peer.onRequest = () => EOT;
      peer.onPaid = () => {};
    },
    end: "Unknown",
    charged: false,
  },
  {
    does: "charges and never replies",
    with: (peer) => {
      peer.onPaid = () => {};
    },
    end: "Unknown",
    charged: true,
    later: "in-doubt",
  },
  {
    does: "replies after the kiosk's 504",
    with: (peer) => {
      const { clock } = peer;
      peer.onPaid = () => {
        clock.startTimer("late", 300_000, () => peer.send(peer.answer()));
      };
    },
    end: "Unknown",
    charged: true,
    later: "charged",
  },
  {
    does: "refuses after the kiosk's 504",
    with: (peer) => {
      const { clock } = peer;
      peer.change = { status: "7" };
      peer.onPaid = () => {
        clock.startTimer("late", 300_000, () => peer.send(peer.answer()));
      };
    },
    end: "Unknown",
    charged: false,
    later: "not-charged",
  },
  {
    does: "replies with a wrong check byte once, then right",
    with: (peer) => {
      peer.onPaid = () => peer.send(damaged(peer.answer()), peer.answer());
    },
    end: "Success",
    charged: true,
  },
  {
    does: "replies with a wrong check byte for ever",
    with: (peer) => {
      peer.onPaid = () => peer.send(damaged(peer.answer()));
    },
    end: "Unknown",
    charged: true,
  },
  {
    does: "refuses with a wrong check byte for ever",
    with: (peer) => {
      peer.change = { status: "7" };
      peer.onPaid = () => peer.send(damaged(peer.answer()));
    },
    end: "Unknown",
    charged: false,
  },
  {
    does: "replies with another length",
    with: (peer) => {
      peer.onPaid = () => peer.send(peer.answer({ report: null }));
    },
    end: "Success",
    charged: true,
  },
  {
    does: "replies one character short",
    with: (peer) => {
      peer.onPaid = () => peer.send(replyHex({ private: "123456789", report: null }).slice(0, -6));
    },
    end: "Unknown",
    charged: true,
  },
  {
    does: "replies without a closing EOT",
    with: (peer) => {
      peer.onReplyTaken = () => "";
    },
    end: "Success",
    charged: true,
  },
  {
    does: "replies without an opening ENQ",
    with: (peer) => {
      peer.onPaid = () => peer.say(peer.answer(), 1_000);
    },
    end: "Success",
    charged: true,
  },
  {
    does: "replies with a parity bit",
    with: (peer) => {
      peer.onPaid = () => peer.send(parity(peer.answer()));
    },
    end: "Unknown",
    charged: true,
  },
  {
    does: "reports that it accepted the request, and no more",
    with: (peer) => {
      peer.change = { status: "9" };
    },
    end: "Unknown",
    charged: false,
  },
  {
    does: "reports that it accepted the request, and then approves",
    with: (peer) => {
      peer.onPaid = () => peer.send(peer.answer({ status: "9" }));
      let isReported = false;
      peer.onReplyTaken = () => {
        if (!isReported) peer.send(peer.answer());
        isReported = true;
        return EOT;
      };
    },
    end: "Success",
    charged: true,
  },
  {
    does: "reports an unknown status",
    with: (peer) => {
      peer.change = { status: "5" };
    },
    end: "Unknown",
    charged: true,
  },
  {
    does: "approves another amount",
    with: (peer) => {
      peer.change = { amountMinor: 998 };
    },
    end: "Unknown",
    charged: true,
    alarm: "report-mismatch",
  },
  {
    does: "approves another currency",
    with: (peer) => {
      peer.change = { currency: "756" };
    },
    end: "Unknown",
    charged: true,
    alarm: "report-mismatch",
  },
  {
    does: "answers with another register number",
    with: (peer) => {
      peer.change = { posNumber: "02" };
    },
    end: "Success",
    charged: true,
    alarm: "report-differs",
  },
  {
    does: "fills the private field with its own",
    with: (peer) => {
      peer.change = { private: "AUTH123456", paymentMode: "B" };
    },
    end: "Success",
    charged: true,
  },
  {
    does: "approves another order's sale instead of ours, and never ours",
    with: (peer) => {
      peer.change = { private: referenceOf("of yesterday") };
    },
    end: "Unknown",
    charged: true,
    alarm: "unmatched-transaction",
  },
  {
    does: "reports an earlier sale instead of ACK to ENQ",
    with: (peer) => {
      peer.onEnq = (count) => {
        if (count === 1) peer.send(replyHex({ private: "          " }));
        return count === 1 ? "" : ACK;
      };
      peer.onPaid = () => {};
    },
    end: "Unknown",
    charged: false,
    alarm: "unmatched-transaction",
  },
  {
    does: "reports an earlier sale instead of ACK to the frame",
    with: (peer) => {
      peer.onRequest = () => ENQ;
      peer.onPaid = () => {};
      const earlier = replyHex({ private: "          " });
      const { hears } = peer;
      let isReported = false;
      peer.hears = (hex) => {
        if (hex === ACK && peer.requests.length > 0 && !isReported) {
          isReported = true;
          peer.say(earlier);
        } else hears(hex);
      };
    },
    end: "Unknown",
    charged: false,
    alarm: "unmatched-transaction",
  },
  {
    does: "replies in pieces of one byte between noise",
    with: (peer) => {
      peer.onPaid = () => {
        const bytes = [...peer.answer().matchAll(/../g)].map(([hex]) => hex);
        peer.say("ff00", 900);
        peer.say(ENQ, 1_000);
        for (const [at, hex] of bytes.entries()) peer.say(hex, 1_100 + 20 * at);
      };
    },
    end: "Success",
    charged: true,
  },
  {
    does: "gives the card number in clear",
    with: (peer) => {
      peer.change = { report: "4111111111111111".padEnd(55, "0") };
    },
    end: "Success",
    charged: true,
  },
  {
    does: "disconnects after the frame, comes back, and reports the result",
    with: (peer) => {
      peer.onPaid = () => {
        const answer = peer.answer();
        peer.drop(100);
        peer.clock.startTimer("back", 20_000, () => peer.send(answer));
      };
    },
    end: "Success",
    charged: true,
  },
  {
    does: "opens a session again because our ACK to its reply was lost",
    with: (peer) => {
      const { hears } = peer;
      let lost = false;
      let acks = 0;
      peer.hears = (hex) => {
        if (hex === ACK) acks += 1;
        if (acks === 2 && !lost) {
          lost = true;
          peer.send(peer.answer());
        } else hears(hex);
      };
    },
    end: "Success",
    charged: true,
  },
];

describe("a payment at a terminal that", () => {
  test.each(terminals.map((one) => [one.does, one] as const))("%s", async (_does, bad) => {
    const { at, peer, paid, phase, alarms } = await concertHouse();
    bad.with(peer);
    expect(await paid()).toBe(bad.end);
    expect(peer.requests.length).toBe(bad.sends ?? 1);
    expect(new Set(peer.requests).size).toBeLessThanOrEqual(1);
    await at.clock.advance(400_000);
    if (bad.later) expect(phase()).toBe(bad.later);
    // Whatever the terminal does, a charge never counts as none, nor none as a charge.
    const wrong = bad.charged ? "not-charged" : "charged";
    expect(phase()).not.toBe(wrong);
    if (bad.alarm) expect(alarms()).toContain(bad.alarm);
    expect(at.lines.join("")).not.toContain("4111111111111111");
    expect(JSON.stringify(at.journal.attempts.decisive("A-1"))).not.toContain("4111111111111111");
    expect(at.supervisor.stored).toHaveLength(phase() === "charged" ? 1 : 0);
    // Sales go on.
    expect(at.arbiter.inquiries.blockedBy).toBeUndefined();
  });
});
