import { randomBytes } from "node:crypto";
import type { FastifyInstance } from "fastify";
import {
  type Body,
  type BodyName,
  bodyOf,
  headerFor,
  minorOf,
  NexoCodecError,
  type NexoKey,
  type NexoMessage,
  NONCE_BYTES,
  readMessage,
  readRefusal,
  writeMessage,
  writeRefusal,
} from "../../../../nexo/index.ts";
import { currencyOf } from "../../../../shared/money.ts";
import { sleep } from "../../../../shared/time.ts";
import { type Condition, Machine } from "../../machine.ts";
import type { BytePort, Transport } from "../../port/ports.ts";
import { ProcessOver } from "../../terminal-parts.ts";
import texts from "../../texts.json" with { type: "json" };
import type { TraceEntry } from "../../trace-log.ts";
import { type Call, HttpsPorts } from "../link/https-port.ts";
import { keyOf, rootOf } from "../options.ts";
import { traceOf } from "../reading.ts";
import { answerName, bankReference, failedBody, responseOf, tenderOf } from "./answers.ts";
import { certificates, type NexoParts } from "./parts.ts";
import { NexoPayment, undo } from "./payment.ts";
import { refusalOf } from "./refused.ts";
import { type Remembered, Requests } from "./requests.ts";
import { damaged } from "./wrong-answers.ts";

/** A terminal that answers each request on its own connection (docs/nexo.md 1.1). */
export class NexoTerminal extends Machine<NexoParts, NexoPayment> {
  readonly routes = texts.protocolRoutes.nexo;
  /** The certificate that registers must trust, in PEM form. */
  readonly rootCertificate: string;
  readonly #ports: HttpsPorts;
  readonly #key: NexoKey | null;
  readonly #requests: Requests;
  /** Ends, when the power fails, everything that belongs to no payment. */
  #powered = new AbortController();

  constructor(parts: NexoParts) {
    super(parts);
    const { options, clock } = parts;
    const { certificate, environment, rememberedMs } = options.behaviour;
    const root = rootOf(options, clock.now());
    const contextOf = certificates(root, certificate, environment, clock);
    this.rootCertificate = root.cert;
    this.#key = keyOf(options);
    this.#requests = new Requests(clock, rememberedMs);
    this.#ports = new HttpsPorts(
      () => contextOf(parts.poiId),
      () => parts.faults.muted,
      (call) => void this.#called(call).catch(ifOver),
    );
  }

  connect(port: BytePort, _transport: Transport): void {
    const refused = this.parts.fault("refuse-connection");
    if (!refused) {
      this.#ports.connect(port);
      return;
    }
    port.close();
    void this.parts.host.unplug(Number(refused["ms"]));
  }

  override powerCycle(): void {
    this.parts.notifier.say("Shutdown");
    super.powerCycle();
    this.running = undefined;
    this.#requests.restart(this.parts.fault("forget") !== undefined);
    this.#powered = new AbortController();
  }

  override kill(why: string): void {
    super.kill(why);
    this.#powered.abort(new ProcessOver(why));
  }

  /** The bytes on the wire are encrypted; the trace has the messages instead. */
  protected override read(): Partial<TraceEntry> {
    return {};
  }

  state(): object {
    const { running } = this;
    return {
      poiId: this.parts.poiId,
      running: running && { serviceId: running.remembered.serviceId, phase: running.phase },
      requests: this.#requests.list,
    };
  }

  get condition(): Condition {
    return this.running ? "busy" : "ready";
  }

  addRoutes(server: FastifyInstance): void {
    server.get("/ca", (_request, reply) =>
      reply.type("application/x-pem-file").send(this.rootCertificate),
    );
  }

  #note(line: string, direction: "in" | "out", entry: Partial<TraceEntry>): void {
    this.trace.add(line, { what: "message", direction, ...entry });
  }

  async #called(call: Call): Promise<void> {
    const crypto = this.parts.fault("crypto-error");
    if (crypto) return this.#refuse(call, `Nexo Service: crypto error (${crypto["code"]})`);
    let message: NexoMessage;
    try {
      message = readMessage(call.text, this.#key);
    } catch (error) {
      if (!(error instanceof NexoCodecError)) throw error;
      return this.#refuseUnread(call, error.code);
    }
    if (message.root !== "SaleToPOIRequest" || message.header.MessageType !== "Request") {
      return this.#refuse(call, "At toplevel, field SaleToPOIRequest: Missing");
    }
    const { environment } = this.parts.options.behaviour;
    if (this.#key === null && environment === "live") return this.#refuseUnread(call, "clear");
    this.#note(call.line, "in", traceOf(message));
    try {
      await this.#serve(call, message);
    } catch (error) {
      if (!(error instanceof NexoCodecError)) throw error;
      this.#refuse(call, `At SaleToPOIRequest, ${error.message}`);
    }
  }

  #refuse(call: Call, ...errors: readonly string[]): void {
    this.#note(call.line, "out", { message: "errors", says: errors.join("; ") });
    call.answer(400, writeRefusal(errors));
  }

  #refuseUnread(call: Call, why: NexoCodecError["code"]): void {
    const body = refusalOf(why, call.text, this.parts.options.behaviour.environment);
    this.#note(call.line, "out", { message: "errors", says: readRefusal(body)?.text ?? "" });
    call.answer(400, body);
  }

  async #serve(call: Call, message: NexoMessage): Promise<void> {
    const { header } = message;
    const { MessageCategory: category, SaleID: saleId = "", ServiceID: serviceId = "" } = header;
    const isOurs = header.POIID?.toUpperCase() === this.parts.poiId.toUpperCase();
    if (!isOurs || !/^[A-Za-z0-9]{1,10}$/.test(serviceId) || saleId === "") {
      return this.#refuse(call, "At SaleToPOIRequest.MessageHeader: a wrong or missing id");
    }
    const dropped = this.parts.fault("lost-request");
    if (dropped) {
      call.drop();
      const ms = Number(dropped["ms"]);
      if (ms === 0) return;
      await sleep(this.parts.clock, "fault lost request", ms, this.#powered.signal);
    }
    const begun = this.#requests.begin(category, saleId, serviceId);
    if (!begun) return this.#refuse(call, "At MessageHeader: these ids were used before");
    try {
      await this.#carryOut(call, begun, message);
    } finally {
      // What was refused never began, and what moves no money is never asked about.
      if (begun.answer === null || !isOfMoney(begun)) this.#requests.drop(begun);
    }
  }

  async #carryOut(call: Call, begun: Remembered, message: NexoMessage): Promise<void> {
    const { category } = begun;
    switch (category) {
      case "Payment":
        return await this.#pay(call, begun, bodyOf(message, "PaymentRequest"));
      case "Abort":
        return this.#abort(call, bodyOf(message, "AbortRequest"));
      case "TransactionStatus":
        return await this.#status(call, begun, bodyOf(message, "TransactionStatusRequest"));
      case "Reversal":
        return await this.#reverse(call, begun, bodyOf(message, "ReversalRequest"));
      case "Diagnosis":
        return await this.#answer(call, begun, {
          Response: responseOf("Success", null, {}),
          POIStatus: { GlobalStatus: this.#globalStatus, CommunicationOKFlag: true },
        });
      case "Login":
        return await this.#answer(call, begun, { Response: responseOf("Success", null, {}) });
      default:
        return this.#refuse(call, `At SaleToPOIRequest, field ${category}Request: Unexpected`);
    }
  }

  get #globalStatus(): string {
    if (this.parts.outOfOrder || this.parts.paperOut) return "Maintenance";
    return this.running || this.parts.busy ? "Busy" : "OK";
  }

  async #pay(call: Call, begun: Remembered, body: Body<"PaymentRequest">): Promise<void> {
    const { AmountsReq } = body.PaymentTransaction;
    const currency = currencyOf(AmountsReq.Currency);
    const amountMinor = minorOf(AmountsReq.RequestedAmount, currency);
    const saleTransaction = body.SaleData.SaleTransactionID;
    const refuse = (condition: string, pairs: Readonly<Record<string, string>>): Promise<void> =>
      this.#answer(call, begun, failedBody(this.parts, { saleTransaction }, condition, pairs));
    const busy = this.#busyTexts(begun);
    if (busy) return await refuse("Busy", busy);
    if (!currency || amountMinor === null) {
      const path = "At SaleToPOIRequest.PaymentRequest.PaymentTransaction.AmountsReq";
      const field = currency ? "RequestedAmount" : "Currency";
      return await refuse("MessageFormat", { errors: `${path}, field ${field}: Missing` });
    }
    const sale = { saleTransaction, amountMinor, currency, tender: tenderOf(this.parts) };
    const payment = new NexoPayment(this.parts, begun, sale, call.line);
    await this.run(payment, async () => {
      const remembers = (made: object): void => {
        begun.answer = this.#messageOf(begun, "PaymentResponse", made);
      };
      const made = await payment.carryOut(remembers);
      remembers(made);
      await payment.reach("answer");
      await this.#answer(call, begun, made);
      await payment.reach("answered");
    });
  }

  /** Returns the texts of a refusal because another payment runs; undefined: none does. */
  #busyTexts({ serviceId }: Remembered): Readonly<Record<string, string>> | undefined {
    const forced = this.parts.fault("busy")?.["with"];
    if (!this.running && !this.parts.busy && forced === undefined) return undefined;
    const message = "Forbidden Request, Service Dialogue PaymentRequest is in Progress";
    if (forced === "none") return { message };
    const running = this.running?.remembered.serviceId ?? "FOREIGN001";
    return { message, serviceId: forced === "own" ? serviceId : running };
  }

  /** An abort has no answer; one that names another payment is ignored (docs/nexo.md 5.1). */
  #abort(call: Call, { MessageReference: { ServiceID } }: Body<"AbortRequest">): void {
    const { running } = this;
    const isLate = this.parts.fault("late-abort") !== undefined;
    if (running?.remembered.serviceId === ServiceID && !isLate) running?.abort();
    call.answer(200, "");
  }

  async #status(
    call: Call,
    begun: Remembered,
    { MessageReference: reference }: Body<"TransactionStatusRequest">,
  ): Promise<void> {
    const { SaleID: saleId = begun.saleId, ServiceID: serviceId = "" } = reference ?? {};
    const asked = this.#requests.find(saleId, serviceId);
    const failure = (condition: string) =>
      this.#answer(call, begun, { Response: responseOf("Failure", condition, {}) });
    if (this.parts.fault("in-progress")) return await failure("InProgress");
    if (this.parts.fault("not-found") || !asked) return await failure("NotFound");
    if (asked.category !== reference?.MessageCategory) return await failure("NotFound");
    const isWrong = this.parts.fault("wrong-repeat") !== undefined;
    const { answer } = (isWrong ? this.#requests.another(asked) : asked) ?? asked;
    if (answer === null) return await failure("InProgress");
    const without = this.parts.fault("bare-repeat")?.["without"];
    const lacks = (part: string): boolean => without === part || without === "both";
    await this.#answer(call, begun, {
      Response: responseOf("Success", null, {}),
      ...(lacks("reference") ? {} : { MessageReference: reference }),
      RepeatedMessageResponse: {
        ...(lacks("header") ? {} : { MessageHeader: answer.header }),
        RepeatedResponseMessageBody: { [answer.name]: answer.body },
      },
    });
  }

  /** A reversal is received at once; whether the bank carries it out is not part of the answer. */
  async #reverse(
    call: Call,
    begun: Remembered,
    { OriginalPOITransaction: { POITransactionID: named } }: Body<"ReversalRequest">,
  ): Promise<void> {
    const { memory, now } = this.parts;
    const isNamed = (trace: number, atMs: number): boolean => {
      const isOfBank = named.TransactionID.endsWith(`.${bankReference({ trace })}`);
      return isOfBank && named.TimeStamp === new Date(atMs).toISOString();
    };
    const sale = memory.turnover.find(({ trace, atMs }) => isNamed(trace, atMs));
    const isKept = this.parts.fault("reversal-refused") !== undefined;
    const isUndone = sale !== undefined && (isKept || undo(this.parts, sale));
    const response = isUndone
      ? responseOf("Success", null, { pspReference: bankReference({ trace: sale.trace }) })
      : responseOf("Failure", "NotAllowed", { message: sale ? "ALREADY_REFUNDED" : "NOT_FOUND" });
    const id = `8${now.getTime().toString(36).toUpperCase()}C`;
    await this.#answer(call, begun, {
      POIData: { POITransactionID: { TransactionID: id, TimeStamp: now.toISOString() } },
      Response: response,
    });
  }

  #messageOf({ category, saleId, serviceId }: Remembered, name: BodyName, body: object) {
    const ids = { saleId, serviceId, poiId: this.parts.poiId };
    const header = headerFor(category, "Response", ids);
    return { root: "SaleToPOIResponse", header, name, body } as const;
  }

  /** Answers a request once, as the armed faults want it; what is answered stays remembered. */
  async #answer(call: Call, begun: Remembered, body: object): Promise<void> {
    const name = answerName(begun.category);
    if (!name) return;
    const message = this.#messageOf(begun, name, body);
    begun.answer = message;
    const late = begun.category === "Payment" ? this.parts.fault("late-answer") : undefined;
    const { clock } = this.parts;
    if (late) await sleep(clock, "fault late answer", Number(late["ms"]), this.#powered.signal);
    const isMoney = isOfMoney(begun);
    if (isMoney && this.parts.fault("lost-answer")) return call.drop();
    const nonce = randomBytes(NONCE_BYTES);
    const right = (): string => writeMessage(message, this.#key, nonce);
    const other = isMoney ? this.#requests.another(begun)?.answer : undefined;
    const wrong = isMoney
      ? damaged(this.parts, { message, key: this.#key, stale: other ?? null, nonce })
      : undefined;
    const text = wrong ?? right();
    this.#note(call.line, "out", traceOf(message));
    if (isMoney && this.parts.fault("cut-answer")) return call.cut(text);
    call.answer(200, text);
  }
}

const isOfMoney = ({ category }: Remembered): boolean =>
  category === "Payment" || category === "Reversal";

function ifOver(error: unknown): void {
  if (!(error instanceof ProcessOver)) throw error;
}
