import { appendFileSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';

// Searches everything that the product writes during a run of the tests for credentials, in whichever test it writes it. The patterns are written again
// here, because those of the product are what is tested.

const CREDENTIALS: readonly RegExp[] = [
  /svc-[a-z0-9]{16}-[a-z0-9]{32}/g,
  /adm-[\w-]{43}/g,
  /v1:[\w-]{8}:[\w-]{48,}/g,
  // Three parts, as only a signed one has.
  /eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{20,}/g,
];
/** A file with the findings of all workers of the run; unset where nobody collects them. Programs reject variables of other names that begin like theirs. */
export const FINDINGS = 'TEST_CREDENTIAL_FINDINGS';
const CONTEXT_CHARACTERS = 60;
const MAX_FILE_BYTES = 16 * 1024 * 1024;
/** Files that are credentials. */
const SECRET_FILES = new Set(['admin-token', 'session-key']);
/** The first start prints the token of the administrator in the line after this one. */
const TOKEN_FOLLOWS = 'Token of the administrator';

/** Credentials in a text, each with what is before it. @param own what may be in the text, such as the request of an echo */
export function credentialsIn(text: string, own = ''): string[] {
  const found = CREDENTIALS.flatMap((form) =>
    [...text.matchAll(form)].map(({ 0: secret, index }) => ({ secret, index, end: index + secret.length })),
  ).toSorted((a, b) => a.index - b.index || b.end - a.end);
  let end = 0;
  return found
    .filter((one) => {
      // A part of another one, which by chance looks like a credential of its own.
      const isPart = one.end <= end;
      end = Math.max(end, one.end);
      return !isPart && !own.includes(one.secret);
    })
    .map(({ secret, index }) => `…${text.slice(Math.max(0, index - CONTEXT_CHARACTERS), index)}${secret}`);
}

/** Notes a leak for the end of the run. @param place where the text was, such as the name of a program */
export function searchText(place: string, text: string, own = ''): void {
  const file = process.env[FINDINGS];
  if (file === undefined) return;
  for (const found of credentialsIn(text, own)) appendFileSync(file, `${JSON.stringify({ place, found })}\n`);
}

/** Searches what a program prints, line by line as it comes: the test may end before the program does. */
export class OutputSearch {
  readonly #place: string;
  #rest = '';
  #isToken = false;

  constructor(place: string) {
    this.#place = place;
  }

  add(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      if (!this.#isToken) searchText(this.#place, line);
      this.#isToken = line.startsWith(TOKEN_FOLLOWS);
    }
  }
}

/** Searches the files of a folder, such as stored results, manifests and audit logs. Files that are removed meanwhile are left out. */
export async function searchFolder(folder: string): Promise<void> {
  if (process.env[FINDINGS] === undefined) return;
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    if (!entry.isFile() || SECRET_FILES.has(basename(entry.name))) continue;
    const file = join(entry.parentPath, entry.name);
    const size = await stat(file).then(
      (found) => found.size,
      () => Number.POSITIVE_INFINITY,
    );
    if (size <= MAX_FILE_BYTES) searchText(entry.name, await readFile(file, 'latin1').catch(() => ''));
  }
}

const KINDS = ['olapwarden.io', 'events', 'configmaps', 'leases'];
const ETCD_TIMEOUT_MS = 5_000;

/** Searches the objects of a cluster that the product writes, except Secrets, as etcd has them. A cluster that has ended is left out. */
export async function searchCluster(etcdUrl: string): Promise<void> {
  if (process.env[FINDINGS] === undefined) return;
  for (const kind of KINDS) {
    const range = { key: btoa(`/registry/${kind}/`), range_end: btoa(`/registry/${kind}0`) };
    const answer = await fetch(`${etcdUrl}/v3/kv/range`, {
      method: 'POST',
      body: JSON.stringify(range),
      signal: AbortSignal.timeout(ETCD_TIMEOUT_MS),
    }).catch(() => undefined);
    if (answer?.ok !== true) return;
    const { kvs = [] } = (await answer.json()) as { kvs?: readonly { readonly key: string; readonly value: string }[] };
    for (const { key, value } of kvs) searchText(`etcd ${atob(key)}`, atob(value));
  }
}
