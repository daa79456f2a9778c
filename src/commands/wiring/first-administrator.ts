import { randomBytes } from 'node:crypto';
import { access, chmod, mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { hashToken } from '../../access/authenticators/token-file.ts';
import { PREDEFINED_ROLES } from '../../access/predefined.ts';
import { sameSubject } from '../../access/subjects.ts';
import type { RoleAssignment } from '../../resources/kinds.ts';
import { ANNOTATIONS, API_VERSION, LABELS } from '../../resources/meta.ts';
import { SUBJECT_TYPES, type Subject } from '../../resources/role-assignment.ts';
import type { LeaderTask } from '../../operator/operator.ts';
import { StoreError, type ResourceStore } from '../../store/resource-store.ts';

export const ADMINISTRATOR_ROLE = 'system-admin';
/** Beside an assignment that people make or that a chart installs. */
const BY_SETTING = 'administrators-by-setting';
const LOCAL = 'local-administrator';
const MANAGED_BY = 'olap-warden';
const PLATFORM = 'platform-rbac-manager';

/** `user-email:you@example.com` → subject. @param text of the form that the setting demands */
export function parseSubject(text: string): Subject {
  const colon = text.indexOf(':');
  const type = SUBJECT_TYPES.find((name) => name === text.slice(0, colon));
  if (type === undefined) throw new TypeError(`\`${text}\` is not a subject such as \`user-email:you@example.com\``);
  return { type, name: text.slice(colon + 1) };
}

const RETRY_MS = 2000;

/** Sees to it that the subjects have the role `system-admin`; tries again until the store takes it. */
export function administratorsTask(subjects: readonly Subject[], log: Logger): LeaderTask {
  return {
    name: 'administrators',
    async run(signal, { store }) {
      while (!signal.aborted) {
        try {
          await ensureAdministrators(store, subjects, signal);
          return;
        } catch (error) {
          if (signal.aborted) return;
          log.warn({ err: error }, 'the first administrators could not be assigned yet');
          await delay(RETRY_MS, undefined, { signal }).catch(() => undefined);
        }
      }
    },
  };
}

/** Gives the subjects the role, and takes it from those that only an earlier setting named. Idempotent. @throws {StoreError} */
export async function ensureAdministrators(
  store: ResourceStore,
  subjects: readonly Subject[],
  signal: AbortSignal,
): Promise<void> {
  const found = store.get('RoleAssignment', BY_SETTING);
  if (subjects.length === 0) {
    if (found?.metadata.labels?.[LABELS.managedBy] === MANAGED_BY)
      await store.delete('RoleAssignment', BY_SETTING, { signal });
    return;
  }
  const spec = { role: ADMINISTRATOR_ROLE, subjects: [...subjects] };
  if (!found) {
    await store.create('RoleAssignment', newAssignment(BY_SETTING, spec), { signal });
  } else if (!sameSubjects(found.spec.subjects, subjects)) {
    await store.update('RoleAssignment', { ...found, spec }, { signal });
  }
}

/** Gives the local administrator of standalone the role. @throws {StoreError} */
export async function assignLocalAdministrator(store: ResourceStore, signal: AbortSignal): Promise<void> {
  if (store.get('RoleAssignment', LOCAL)) return;
  const spec = { role: ADMINISTRATOR_ROLE, subjects: [LOCAL_ADMINISTRATOR] };
  await store.create('RoleAssignment', newAssignment(LOCAL, spec), { signal });
}

function newAssignment(name: string, spec: RoleAssignment['spec']): RoleAssignment {
  return {
    apiVersion: API_VERSION,
    kind: 'RoleAssignment',
    metadata: {
      name,
      labels: { [LABELS.managedBy]: MANAGED_BY },
      annotations: { [ANNOTATIONS.createdBy]: PLATFORM, [ANNOTATIONS.lastUpdatedBy]: PLATFORM },
    },
    spec,
  };
}

function sameSubjects(a: readonly Subject[], b: readonly Subject[]): boolean {
  return a.length === b.length && a.every((one) => b.some((other) => sameSubject(one, other)));
}

export const LOCAL_ADMINISTRATOR: Subject = { type: 'user-email', name: 'admin@localhost' };

/**
 * The token file of standalone. At the very first start it is made, with one token for `admin@localhost`, which then stands in
 * `admin-token` beside it (mode 0600); only its hash is in the token file.
 * @returns the token where it was made just now
 */
export async function ensureLocalTokens(dataDir: string): Promise<{ file: string; newToken: string | undefined }> {
  const file = join(dataDir, 'tokens.jsonl');
  await mkdir(dataDir, { recursive: true });
  if (await exists(file)) return { file, newToken: undefined };
  const token = `adm-${randomBytes(32).toString('base64url')}`;
  // The token before its hash: a start that is cut off between them makes a new pair, never a hash that nobody has the token of.
  await writePrivate(join(dataDir, 'admin-token'), `${token}\n`);
  const entry = { sha256: hashToken(token), user: LOCAL_ADMINISTRATOR.name };
  await writePrivate(file, `${JSON.stringify(entry)}\n`);
  return { file, newToken: token };
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

async function writePrivate(path: string, content: string): Promise<void> {
  const partial = `${path}.new`;
  await writeFile(partial, content, { mode: 0o600 });
  // The mode above does not count where the file is left over from a start that was cut off.
  await chmod(partial, 0o600);
  await rename(partial, path);
}

/** Resolves when every predefined role is there. @throws {StoreError} where they do not appear in time */
export async function untilPredefined(store: ResourceStore, timeoutMs: number): Promise<void> {
  const missing = new Set(PREDEFINED_ROLES.map(({ metadata }) => metadata.name));
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(() => {
    reject(new StoreError('unavailable', `the predefined roles ${[...missing].join(', ')} could not be made in time`));
  }, timeoutMs);
  const unsubscribe = store.subscribe('Role', ({ object }) => {
    missing.delete(object.metadata.name);
    if (missing.size === 0) resolve();
  });
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    unsubscribe();
  }
}
