/**
 * The terminal's side of the dialogue of ENQ, ACK, frames and EOT (docs/concert.md 2.4 to 2.7), as
 * one pure step: a state and what happened give the next state and what has to be done.
 */

/** Where the terminal is in the dialogue. */
export type Session =
  | { readonly at: "idle" }
  /** The register's ENQ was acknowledged: its frame is awaited. */
  | { readonly at: "listening" }
  /** The request was taken: its EOT is awaited. */
  | { readonly at: "taken"; readonly request: Uint8Array }
  /** Our ENQ is out. */
  | { readonly at: "calling"; readonly body: Uint8Array }
  /** Our frame is out; the register has refused it so many times. */
  | { readonly at: "sending"; readonly body: Uint8Array; readonly naks: number };

/** The reply to an ENQ or to a frame, as the terminal or a fault has chosen it. */
export type LinkReply = "ack" | "nak" | "silence";

export type Happening =
  | { readonly what: "enq"; readonly reply: LinkReply }
  /** `taken`: the request is carried out, whatever the register hears. */
  | {
      readonly what: "frame";
      readonly body: Uint8Array;
      readonly reply: LinkReply;
      readonly taken: boolean;
    }
  | { readonly what: "ack" | "nak" | "eot" | "junk" | "time" }
  /** The terminal has a reply to deliver; only while it is idle. */
  | { readonly what: "send"; readonly body: Uint8Array };

/** How the terminal's own session ended. */
export type Delivery =
  | "delivered"
  /** ENQ was not answered, or with NAK. */
  | "not-heard"
  /** The frame was out, and nothing came. */
  | "not-acknowledged"
  /** The frame was refused, and every repeat of it. */
  | "refused";

export type Action =
  | { readonly do: "say"; readonly what: "enq" | "ack" | "nak" | "eot" }
  | { readonly do: "frame"; readonly body: Uint8Array; readonly repeat: number }
  | { readonly do: "begin" }
  | { readonly do: "ended"; readonly how: Delivery }
  /** Starts the one timer anew. */
  | { readonly do: "wait"; readonly for: "session" | "answer" };

interface Step {
  readonly next: Session;
  readonly actions: readonly Action[];
}

/** A reply is repeated after NAK at most so often. */
const REPEATS_MAX = 3;

const idle: Session = { at: "idle" };
const say = (what: "enq" | "ack" | "nak" | "eot"): Action => ({ do: "say", what });
const wait = (what: "session" | "answer"): Action => ({ do: "wait", for: what });

const stays = (session: Session, ...actions: readonly Action[]): Step => ({
  next: session,
  actions,
});

/** Returns the terminal's next move. Never throws: what is not expected is not answered. */
export function step(session: Session, happening: Happening): Step {
  switch (session.at) {
    case "idle":
      return whenIdle(session, happening);
    case "listening":
      return whenListening(session, happening);
    case "taken":
      return whenTaken(session, happening);
    case "calling":
      return whenCalling(session, happening);
    case "sending":
      return whenSending(session, happening);
  }
}

function whenIdle(session: Session, happening: Happening): Step {
  if (happening.what === "enq") return answered(session, happening.reply);
  if (happening.what !== "send") return stays(session);
  const { body } = happening;
  return { next: { at: "calling", body }, actions: [say("enq"), wait("answer")] };
}

function answered(session: Session, reply: LinkReply): Step {
  if (reply === "silence") return stays(session);
  if (reply === "nak") return stays(session, say("nak"));
  return { next: { at: "listening" }, actions: [say("ack"), wait("session")] };
}

function whenListening(session: Session, happening: Happening): Step {
  switch (happening.what) {
    case "enq":
      return answered(session, happening.reply);
    case "frame":
      return requested(session, happening);
    case "junk":
      return stays(session, say("nak"), wait("session"));
    case "eot":
    case "time":
      return { next: idle, actions: [] };
    default:
      return stays(session);
  }
}

function requested(
  session: Session,
  { body, reply, taken }: { body: Uint8Array; reply: LinkReply; taken: boolean },
): Step {
  const replies: readonly Action[] = reply === "silence" ? [] : [say(reply)];
  if (!taken) return stays(session, ...replies, wait("session"));
  return {
    next: { at: "taken", request: body },
    actions: [...replies, { do: "begin" }, wait("session")],
  };
}

function whenTaken(session: Session & { at: "taken" }, happening: Happening): Step {
  switch (happening.what) {
    case "enq":
      return stays(session, say("nak"));
    case "frame": {
      // An equal frame comes from a register that missed our ACK: it was taken once.
      const again = Buffer.compare(happening.body, session.request) === 0;
      return stays(session, say(again ? "ack" : "nak"), wait("session"));
    }
    case "eot":
    case "time":
      return { next: idle, actions: [] };
    default:
      return stays(session);
  }
}

function whenCalling(session: Session & { at: "calling" }, happening: Happening): Step {
  const { body } = session;
  switch (happening.what) {
    case "ack": {
      const actions: readonly Action[] = [{ do: "frame", body, repeat: 0 }, wait("answer")];
      return { next: { at: "sending", body, naks: 0 }, actions };
    }
    case "enq":
      // Both began to speak. The terminal has a result to report, and insists.
      return stays(session, say("nak"));
    case "nak":
    case "time":
      return { next: idle, actions: [say("eot"), { do: "ended", how: "not-heard" }] };
    default:
      return stays(session);
  }
}

function whenSending(session: Session & { at: "sending" }, happening: Happening): Step {
  const { body, naks } = session;
  const over = (how: Delivery): Step => ({
    next: idle,
    actions: [say("eot"), { do: "ended", how }],
  });
  switch (happening.what) {
    case "ack":
      return over("delivered");
    case "nak":
      if (naks === REPEATS_MAX) return over("refused");
      return {
        next: { at: "sending", body, naks: naks + 1 },
        actions: [{ do: "frame", body, repeat: naks + 1 }, wait("answer")],
      };
    case "time":
      return over("not-acknowledged");
    case "enq":
      return stays(session, say("nak"));
    default:
      return stays(session);
  }
}
