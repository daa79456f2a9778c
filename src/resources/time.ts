/** RFC 3339 in whole seconds, as metav1.Time is written. @param ms milliseconds since the epoch */
export function kubernetesTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** RFC 3339 with six digits after the second, as metav1.MicroTime is written. @param ms milliseconds since the epoch */
export function kubernetesMicroTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}
