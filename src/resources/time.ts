const DAY = '(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])';
const CLOCK = '(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:[.][0-9]{1,9})?';
const OFFSET = '[+-](?:[01][0-9]|2[0-3]):[0-5][0-9]';

/**
 * The times that users may write: those of RFC 3339 that the formats of the API server, its CEL and JavaScript all read, and with the same value. CEL
 * has years 1 to 9999 in UTC. The pattern cannot express the number of days of a month, which `date-time` of the API server checks.
 */
export const TIME_PATTERN = `^(?:[1-9][0-9]{3}-${DAY}T${CLOCK}Z|(?:[1-8][0-9]{3}|9(?:[0-8][0-9]{2}|9[0-8][0-9]|99[0-8]))-${DAY}T${CLOCK}${OFFSET})$`;

const TIME = new RegExp(TIME_PATTERN);

/** Whether a user may write this time: TIME_PATTERN with a day that exists. */
export function isTime(text: string): boolean {
  if (!TIME.test(text)) return false;
  const date = text.slice(0, 10);
  // JavaScript reads 30 February as 2 March.
  return new Date(`${date}T00:00:00Z`).toISOString().startsWith(date);
}

/**
 * Milliseconds since the epoch; undefined for a text that is not a time, such as one that was stored before its format was checked. It grants
 * nothing, and nothing is deleted because of it.
 */
export function parseTime(text: string): number | undefined {
  return isTime(text) ? Date.parse(text) : undefined;
}

/**
 * When what has this expiry ends, in milliseconds since the epoch: Infinity without one, -Infinity for a text that is not a time. A reader that deletes
 * what has ended uses parseTime().
 */
export function endOf(expiresAt: string | undefined): number {
  return expiresAt === undefined ? Infinity : (parseTime(expiresAt) ?? -Infinity);
}

/** RFC 3339 in whole seconds, as metav1.Time is written. @param ms milliseconds since the epoch */
export function kubernetesTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** RFC 3339 with six digits after the second, as metav1.MicroTime is written. @param ms milliseconds since the epoch */
export function kubernetesMicroTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}
