import { Directory } from '../../access/directory.ts';
import type { Deployment } from '../../access/policy/srn.ts';
import { liveUsageKeys, reviewPorts } from '../../access/usage/access-review.ts';
import { UsageTracker } from '../../access/usage/usage-tracker.ts';
import { systemClock } from '../../platform/clock.ts';
import { longWork } from '../../platform/long-work.ts';
import { Deadline } from '../../platform/deadline.ts';
import type { ResourceStore } from '../../store/resource-store.ts';
import type { SharedDocument } from '../../store/shared-document.ts';
import type { Boot } from './boot.ts';

/** Time limit for the last write at shutdown. */
const LAST_WRITE_MS = 3000;

export interface DirectoryDependencies {
  readonly store: ResourceStore;
  readonly deployment: Deployment;
  /** Where the record of use is stored. */
  readonly usageDocument: SharedDocument;
}

/** The directory that decides access, with the record of use. `boot.closers` closes both. */
export function openDirectory(
  { log, closers }: Boot,
  parts: DirectoryDependencies,
): { directory: Directory; usage: UsageTracker } {
  const { store, deployment, usageDocument } = parts;
  const usage: UsageTracker = new UsageTracker({
    document: usageDocument,
    clock: systemClock,
    log,
    liveKeys: () => longWork.run('access usage', liveUsageKeys(reviewPorts(store, directory))),
  });
  const directory: Directory = new Directory(store, deployment, { usage });
  closers.defer('directory', () => directory.close());
  usage.start();
  closers.defer('access usage', async () => {
    const deadline = new Deadline(systemClock, LAST_WRITE_MS);
    try {
      await usage.stop(deadline.signal);
    } finally {
      deadline.clear();
    }
  });
  return { directory, usage };
}
