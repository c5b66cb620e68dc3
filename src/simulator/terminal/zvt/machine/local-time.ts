/** A terminal shows the time of its place, here that of the machine. */
interface LocalTime {
  /** YYYYMMDD. */
  readonly date: string;
  /** HHMMSS. */
  readonly time: string;
}

export function localTime(at: Date): LocalTime {
  return {
    date: two(at.getFullYear(), 4) + two(at.getMonth() + 1) + two(at.getDate()),
    time: two(at.getHours()) + two(at.getMinutes()) + two(at.getSeconds()),
  };
}

function two(value: number, digits = 2): string {
  return String(value).padStart(digits, "0");
}
