/**
 * What measures its own heap or its own time, or replaces a module, has a worker of its own. All
 * other files share workers: one after the other, with the modules that the first of them has
 * loaded. Loading them anew takes longer than most of these tests.
 */
export const measuring: readonly string[] = [
  "test/launcher/take-versions.test.ts",
  "test/shared/process/exclusive-lock.test.ts",
  "test/shared/masking/mask.test.ts",
  "test/simulator/gateway/http/hostile.test.ts",
  "test/simulator/terminal/*/fuzz.test.ts",
  "test/supervisor/hostile.test.ts",
  "test/supervisor/notifications/{flood,mapi-notification,notification-listener}.test.ts",
  "test/supervisor/outbox/outage.test.ts",
  "test/supervisor/speed.test.ts",
  "test/tp-manager/http/{flood,fuzz}.test.ts",
  "test/tp-manager/journal/speed.test.ts",
  "test/tp-manager/terminal/zvt/fuzz.test.ts",
];
