export type * from "./answer-types.ts";
export * from "./client.ts";
export * from "./customer-messages.ts";
