import type { BytePort } from "../../../../src/simulator/terminal/port/ports.ts";

type Handlers = Parameters<BytePort["start"]>[0];

/** A register's end of a line in this process. */
export class MemoryPort implements BytePort {
  readonly name = "memory";
  readonly written: Uint8Array[] = [];
  #handlers: Handlers | undefined;

  start(handlers: Handlers): void {
    this.#handlers = handlers;
  }

  write(bytes: Uint8Array): void {
    if (this.#handlers) this.written.push(bytes);
  }

  close(): void {
    const handlers = this.#handlers;
    this.#handlers = undefined;
    handlers?.closed();
  }

  get isOpen(): boolean {
    return this.#handlers !== undefined;
  }

  arrive(bytes: Uint8Array): void {
    this.#handlers?.data(bytes);
  }

  take(): Uint8Array {
    return Uint8Array.from(this.written.splice(0).flatMap((bytes) => [...bytes]));
  }
}
