import { PARTS } from './part-list.ts';

/** What is missing and how long it takes: the lanes run beside each other. */
export function plan(missing: readonly string[]): string {
  const minutes = { compile: 0, download: 0 };
  for (const part of missing) {
    const { lane, minutes: own } = PARTS[part] ?? { lane: 'compile' as const, minutes: 0 };
    minutes[lane] += own;
  }
  const names = missing.map((part) => `${part} (${PARTS[part]?.minutes} min)`).join(', ');
  const total = Math.max(minutes.compile, minutes.download);
  return (
    `${missing.length} real part${missing.length === 1 ? '' : 's'} of the tests must be built or downloaded first: ${names}. ` +
    `In all about ${total} min on two idle cores, up to three times as long on a busy machine or a slow network. It happens once: they are cached for all clones.`
  );
}
