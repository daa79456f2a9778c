/** Three significant digits; thousands with k, M. */
export function format(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e6) return `${significant(value / 1e6)} M`;
  if (size >= 1e4) return `${significant(value / 1e3)} k`;
  return significant(value);
}

function significant(value: number): string {
  return String(Number(value.toPrecision(3)));
}

/** `45 s`, `3 min 20 s` */
export function formatSeconds(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const rest = whole % 60;
  return rest === 0 ? `${whole / 60} min` : `${Math.floor(whole / 60)} min ${rest} s`;
}
