import { type NexoCodecError, writeMessage, writeRefusal } from "../../../../nexo/index.ts";
import { responseOf } from "./answers.ts";

const NOTE = "Direct API REQUIRES payload crypto on live, cleartext allowed for testing only";
/** Inferred from the recorded errors: nobody has published this one. */
const NO_BLOB = "At SaleToPOIRequest, field NexoBlob: Missing";

/** Returns the body that refuses a message which the terminal cannot read (docs/nexo.md 9.2). */
export function refusalOf(
  why: NexoCodecError["code"],
  text: string,
  environment: "test" | "live",
): string {
  switch (why) {
    case "json":
    case "shape":
      return writeRefusal(["At toplevel, field SaleToPOIRequest: Missing", "At toplevel: Missing"]);
    case "clear":
      return environment === "live" ? liveRefusal(text) : writeRefusal([NO_BLOB]);
    case "protected": {
      const field = (name: string, fault: string): string =>
        `At SaleToPOIRequest, field ${name}: ${fault}`;
      const missing = field(`${categoryIn(text)}Request`, "Missing");
      const unexpected = ["NexoBlob", "SecurityTrailer"].map((name) => field(name, "Unexpected"));
      return writeRefusal([missing], ...unexpected);
    }
    case "key":
      return writeRefusal(["Nexo Service: crypto error (9)"]);
    default:
      return writeRefusal(["Nexo Service: crypto error (3)"]);
  }
}

/** A live terminal takes protected messages only, and says so by an answer of this form. */
function liveRefusal(text: string): string {
  const category = categoryIn(text);
  const asked = { MessageClass: "Service", MessageCategory: category, ...headerIn(text) };
  const header = { ...asked, MessageType: "Response" };
  const Response = responseOf("Failure", "MessageFormat", { errors: NO_BLOB, note: NOTE });
  const name = `${category}Response`;
  const answer = { root: "SaleToPOIResponse", header, name, body: { Response } } as const;
  return writeMessage(answer, null, Buffer.alloc(0));
}

type Members = Readonly<Record<string, string>>;

function headerIn(text: string): Members | undefined {
  const whole = JSON.parse(text) as { readonly SaleToPOIRequest?: { MessageHeader?: Members } };
  return whole.SaleToPOIRequest?.MessageHeader;
}

const categoryIn = (text: string): string => headerIn(text)?.["MessageCategory"] ?? "Payment";
