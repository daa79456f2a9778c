import { EndedSessions } from '../../api/server/authentication/ended-sessions.ts';
import { processSessionKeys, sessionKeysFromFile } from '../../api/server/authentication/session-keys.ts';
import { Sessions } from '../../api/server/authentication/sessions.ts';
import { systemClock } from '../../platform/clock.ts';
import { Deadline } from '../../platform/deadline.ts';
import type { SharedDocument } from '../../store/shared-document.ts';
import type { Boot } from './boot.ts';

/** Time limit for the last write at shutdown. */
const LAST_WRITE_MS = 3000;

export interface SessionDependencies {
  /** The file with the session keys where the setting names none; undefined for a key of the process. */
  readonly sessionKeyFile?: string;
  readonly endedSessionsDocument: SharedDocument;
}

/** The sessions of the dashboard. `boot.closers` stops the exchange of those that have ended. */
export function openSessions(
  { settings, log, closers }: Boot,
  { sessionKeyFile, endedSessionsDocument: document }: SessionDependencies,
): Sessions {
  const path = settings['ui-session-key-file'] ?? sessionKeyFile;
  const shared = { maxAgeMs: settings['ui-session-max-age'], clock: systemClock };
  const ended = new EndedSessions({
    ...shared,
    document,
    onProblem: (problem) => log.warn({ problem }, 'sign-outs not exchanged with other gateways; trying again'),
  });
  ended.start();
  closers.defer('ended sessions', async () => {
    const deadline = new Deadline(systemClock, LAST_WRITE_MS);
    try {
      await ended.stop(deadline.signal);
    } finally {
      deadline.clear();
    }
  });
  const onProblem = (problem: string): void => log.warn({ problem }, 'session keys not read');
  const keys = path === undefined ? processSessionKeys() : sessionKeysFromFile({ path, clock: systemClock, onProblem });
  return new Sessions({ ...shared, keys, ended });
}
