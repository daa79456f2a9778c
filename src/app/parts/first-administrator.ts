import { randomBytes } from 'node:crypto';
import { access, chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '../../platform/plain-error.ts';
import { hashToken } from '../../access/authenticators/token-file.ts';
import { PREDEFINED_ROLES } from '../../access/policy/predefined.ts';
import { LOCAL_ADMINISTRATOR_NAME, sameSubject } from '../../access/subjects.ts';
import { systemClock } from '../../platform/clock.ts';
import type { Deadline } from '../../platform/deadline.ts';
import { retry } from '../../platform/retry.ts';
import type { RoleAssignment } from '../../resources/kinds.ts';
import { ANNOTATIONS, API_VERSION, LABELS, PLATFORM_AUTHOR } from '../../resources/meta.ts';
import type { Subject } from '../../resources/role-assignment.ts';
import { conflictRetryAfterMs, StoreError, type ResourceStore } from '../../store/resource-store.ts';

export const ADMINISTRATOR_ROLE = 'system-admin';
const LOCAL = 'local-administrator';
/** In the data folder. */
const TOKEN_FILE = 'tokens.jsonl';
const MAX_CONFLICTS = 10;
/** Value of the label of objects that olap-warden has created. */
export const MANAGED_BY = 'olap-warden';

/** Assigns the role to the local administrator of standalone. @throws {StoreError} */
export async function assignLocalAdministrator(store: ResourceStore, signal: AbortSignal): Promise<void> {
  if (store.get('RoleAssignment', LOCAL)) return;
  const spec = { role: ADMINISTRATOR_ROLE, subjects: [LOCAL_ADMINISTRATOR] };
  await store.create('RoleAssignment', newAssignment(LOCAL, spec), { signal });
}

export function newAssignment(name: string, spec: RoleAssignment['spec']): RoleAssignment {
  return {
    apiVersion: API_VERSION,
    kind: 'RoleAssignment',
    metadata: {
      name,
      labels: { [LABELS.managedBy]: MANAGED_BY },
      annotations: { [ANNOTATIONS.createdBy]: PLATFORM_AUTHOR, [ANNOTATIONS.lastUpdatedBy]: PLATFORM_AUTHOR },
    },
    spec,
  };
}

export const LOCAL_ADMINISTRATOR: Subject = { type: 'user-email', name: LOCAL_ADMINISTRATOR_NAME };

/**
 * The token file of standalone. The first start creates it with the hash of one token for `admin@localhost`; the token itself is written to
 * `admin-token` in the same folder (mode 0600).
 * @returns `newToken` when this call has created the token
 */
export async function ensureLocalTokens(dataDir: string): Promise<{ file: string; newToken: string | undefined }> {
  const file = join(dataDir, TOKEN_FILE);
  await mkdir(dataDir, { recursive: true });
  if (await exists(file)) return { file, newToken: undefined };
  return { file, newToken: await writeNewToken(dataDir, []) };
}

/** All subjects by which the local administrator could have roles. */
const LOCAL_SUBJECTS: readonly Subject[] = [LOCAL_ADMINISTRATOR, { type: 'domain', name: 'localhost' }];

/**
 * Recovery if no subject has the role or no token is left. Assigns the role `system-admin` to the local administrator, removes all its other
 * roles, which may contain denies, and replaces its tokens by a new one.
 * @returns the new token, which is also in `admin-token`
 * @throws {StoreError}
 */
export async function recoverLocalAdministrator(
  store: ResourceStore,
  dataDir: string,
  signal: AbortSignal,
): Promise<string> {
  await retry(() => reassignLocalAdministrator(store, signal), {
    // The operator writes the status of assignments meanwhile.
    attempts: MAX_CONFLICTS,
    backoff: { baseMs: 20, maxMs: 500 },
    clock: systemClock,
    signal,
    retryAfterMs: conflictRetryAfterMs,
  });
  await mkdir(dataDir, { recursive: true });
  const file = join(dataDir, TOKEN_FILE);
  const kept = (await exists(file)) ? (await readFile(file, 'utf8')).split('\n').filter(isOfOthers) : [];
  return writeNewToken(dataDir, kept);
}

async function reassignLocalAdministrator(store: ResourceStore, signal: AbortSignal): Promise<void> {
  for (const assignment of await store.readAll('RoleAssignment')) {
    const { name } = assignment.metadata;
    const { role, subjects } = assignment.spec;
    const others = subjects.filter((subject) => !LOCAL_SUBJECTS.some((own) => sameSubject(own, subject)));
    if (name === LOCAL || others.length === 0) await store.delete('RoleAssignment', name, { signal });
    else if (others.length < subjects.length)
      await store.update('RoleAssignment', { ...assignment, spec: { role, subjects: others } }, { signal });
  }
  const spec = { role: ADMINISTRATOR_ROLE, subjects: [LOCAL_ADMINISTRATOR] };
  await store.create('RoleAssignment', newAssignment(LOCAL, spec), { signal });
}

/** Whether a line of the token file is not of the local administrator. */
function isOfOthers(line: string): boolean {
  if (line.trim() === '') return false;
  try {
    return (JSON.parse(line) as { user?: unknown }).user !== LOCAL_ADMINISTRATOR.name;
  } catch {
    return true;
  }
}

/** Adds the hash of a new token to the lines of the token file. @returns the token */
async function writeNewToken(dataDir: string, lines: readonly string[]): Promise<string> {
  const token = `adm-${randomBytes(32).toString('base64url')}`;
  // The token is written before its hash: a start that is interrupted in between creates a new pair, never a hash without its token.
  await writePrivate(join(dataDir, 'admin-token'), `${token}\n`);
  const entry = JSON.stringify({ sha256: hashToken(token), user: LOCAL_ADMINISTRATOR.name });
  await writePrivate(join(dataDir, TOKEN_FILE), `${[...lines, entry].join('\n')}\n`);
  return token;
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false;
    throw error;
  }
}

async function writePrivate(path: string, content: string): Promise<void> {
  const partial = `${path}.new`;
  await writeFile(partial, content, { mode: 0o600 });
  // writeFile() ignores the mode for a file left by an interrupted start.
  await chmod(partial, 0o600);
  await rename(partial, path);
}

/** Resolves when all predefined roles exist. @throws {StoreError} when the deadline expires */
export async function untilPredefined(store: ResourceStore, deadline: Deadline): Promise<void> {
  const missing = new Set(PREDEFINED_ROLES.map(({ metadata }) => metadata.name));
  const { promise, resolve } = Promise.withResolvers<void>();
  const unsubscribe = store.subscribe('Role', ({ object }) => {
    missing.delete(object.metadata.name);
    if (missing.size === 0) resolve();
  });
  try {
    await deadline.limit(promise);
  } catch (error) {
    const names = [...missing].map((name) => `\`${name}\``).join(', ');
    const message = `the predefined roles ${names} were not created within ${deadline.timeoutMs} ms`;
    throw new StoreError('unavailable', message, { cause: error });
  } finally {
    unsubscribe();
  }
}
