export * from "./client.ts";
export * from "./customer-messages.ts";
export type * from "./event-types.ts";
