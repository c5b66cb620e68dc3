import type { NotificationStore } from "../notifications/notification-store.ts";
import type { OperationStore } from "./operation-store.ts";

/** Everything that is known of an order at the gateway. */
export interface HistoryParts {
  readonly operations: OperationStore;
  readonly notifications: NotificationStore;
}
