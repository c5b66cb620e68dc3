import { XMLParser } from "fast-xml-parser";
import { expect, test } from "vitest";
import { taskName, taskXml } from "../../../src/launcher/schedule/schedule.ts";

const entry = {
  script: "C:\\Kiosk & Co (x86)\\always-up.cmd",
  dataDirectory: "C:\\Daten\\Kasse 1",
  args: ["--data", "C:\\Daten\\Kasse 1"],
  runtimeFolder: undefined,
};

const task = () => {
  const parser = new XMLParser({ parseTagValue: false });
  return (parser.parse(taskXml(entry, "KIOSK\\Ünal")) as { Task: Record<string, unknown> }).Task;
};

test("the task runs every day every 5 minutes, logged on or not, on battery too", () => {
  expect(task()).toMatchObject({
    Triggers: {
      CalendarTrigger: {
        Repetition: { Interval: "PT5M", Duration: "P1D", StopAtDurationEnd: "false" },
        ScheduleByDay: { DaysInterval: "1" },
      },
    },
    Principals: { Principal: { UserId: "KIOSK\\Ünal", LogonType: "S4U" } },
    Settings: {
      DisallowStartIfOnBatteries: "false",
      StopIfGoingOnBatteries: "false",
      MultipleInstancesPolicy: "IgnoreNew",
      Priority: "5",
    },
  });
});

test("paths with blanks, ampersands and parentheses are quoted as cmd.exe wants them", () => {
  expect(task()["Actions"]).toEqual({
    Exec: {
      Command: "%SystemRoot%\\System32\\cmd.exe",
      Arguments: '/d /c ""C:\\Kiosk & Co (x86)\\always-up.cmd" --data "C:\\Daten\\Kasse 1""',
      WorkingDirectory: "C:\\Kiosk & Co (x86)",
    },
  });
});

test("each data folder has a task of its own, in whatever case it is written", () => {
  const other = { ...entry, dataDirectory: "C:\\Daten\\Kasse 2" };
  expect(taskName(other)).not.toBe(taskName(entry));
  expect(taskName({ ...entry, dataDirectory: "c:\\daten\\kasse 1" })).toBe(taskName(entry));
});
