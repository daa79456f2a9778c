/** RFC 3339 in whole seconds, as metav1.Time is written. */
export function kubernetesTime(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`;
}

/** RFC 3339 with six digits after the second, as metav1.MicroTime is written. */
export function kubernetesMicroTime(time: Date): string {
  return time.toISOString().replace('Z', '000Z');
}
