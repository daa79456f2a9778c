// The whole gateway in a separate process, which reports how long its event loop was blocked. Argument: the engine's base URL. Over the channel to its parent
// it sends its address and token once; then it responds to `reset` and `read`, the latter with milliseconds.
import { startStandalone } from '../../test/support/service.ts';

/**
 * A timer that is due each millisecond: between two of its calls the event loop was blocked. It measures the CPU time of this thread in between, so
 * that other programs of a busy machine do not count.
 */
const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};
let last = cpuMs();
let longest = 0;
const note = (): void => {
  const now = cpuMs();
  longest = Math.max(longest, now - last);
  last = now;
};
setInterval(note, 1);

const gateway = await startStandalone({
  controllers: process.argv[2] ?? '',
  'log-level': 'silent',
  'max-requests-per-second': 1_000_000,
  'max-failed-attempts': 1_000_000,
});
process.on('message', (message) => {
  note();
  if (message === 'reset') {
    longest = 0;
  }
  process.send?.(longest);
});
process.once('disconnect', () => void gateway.stop().finally(() => process.exit(0)));
process.send?.({ url: gateway.url, token: gateway.token });
