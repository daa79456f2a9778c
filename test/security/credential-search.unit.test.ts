import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { formatBearerToken, generateTokenKeys } from '../../src/access/service-token.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { processSessionKeys } from '../../src/api/server/authentication/session-keys.ts';
import { Sessions } from '../../src/api/server/authentication/sessions.ts';
import { credentialsIn, FINDINGS, OutputSearch, searchFolder, searchText } from '../support/credential-search.ts';
import { seeded } from '../support/seed.ts';

// The search that runs beside all tests with whole programs: it finds each kind of credential, in pieces of any size, and nothing else.

const random = seeded();
const TOKEN = formatBearerToken(generateTokenKeys((size) => random.bytes(size)));
const jwt = (): string =>
  [{ alg: 'RS256' }, { sub: 'ada' }].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
const JWT = `${jwt()}.${random.bytes(64).toString('base64url')}`;
const ADMIN = `adm-${random.bytes(32).toString('base64url')}`;

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-search-'));
  file = `${folder}.jsonl`;
  await writeFile(file, '');
  vi.stubEnv(FINDINGS, file);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
  await rm(file);
});

const findings = async (): Promise<string[]> =>
  (await readFile(file, 'utf8'))
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => (JSON.parse(line) as { found: string }).found);

describe('the search for credentials', () => {
  it('finds tokens of each kind and sessions, but no masked ones and no hashes', async () => {
    const session = await new Sessions({ keys: processSessionKeys(), maxAgeMs: 1_000, clock: systemClock }).seal(TOKEN);
    for (const secret of [TOKEN, JWT, ADMIN, session])
      expect(credentialsIn(`{"path":"/x/${secret}/y"}`), secret).toEqual([`…{"path":"/x/${secret}`]);
    expect(
      credentialsIn(`svc-${'a'.repeat(16)}-[redacted] sha256:${'0'.repeat(64)} eyJhbGciOi.x adm-[redacted]`),
    ).toEqual([]);
    expect(credentialsIn(`no role \`${TOKEN}\``, `GET /roles/${TOKEN}`)).toEqual([]);
  });

  it('finds one credential where a part of it looks like another kind', () => {
    // A signature or a session can have any letters.
    const signed = `${jwt()}.${ADMIN}_${'a'.repeat(20)}`;
    const session = `v1:01234567:${'s'.repeat(20)}${ADMIN}`;
    for (const secret of [signed, session]) expect(credentialsIn(secret), secret).toEqual([`…${secret}`]);
    expect(credentialsIn(`${TOKEN} ${signed}`)).toEqual([`…${TOKEN}`, `…${TOKEN} ${signed}`]);
  });

  it('finds one in an output that comes byte by byte, except the one that is printed on purpose', async () => {
    const search = new OutputSearch('output');
    const first = 'Token of the administrator, shown once:';
    for (const letter of `${first}\n${ADMIN}\n{"msg":"started"}\n{"token":"${TOKEN}"}\n${ADMIN}\n`) search.add(letter);
    expect(await findings()).toEqual([`…{"token":"${TOKEN}`, `…${ADMIN}`]);
  });

  it('finds one in a file of a folder, except in those that are credentials', async () => {
    await writeFile(join(folder, 'admin-token'), ADMIN);
    await searchFolder(folder);
    expect(await findings()).toEqual([]);
    await writeFile(join(folder, 'audit.jsonl'), JSON.stringify({ path: TOKEN }));
    await searchFolder(folder);
    expect(await findings()).toEqual([`…{"path":"${TOKEN}`]);
  });

  it('writes nothing where nobody collects the findings', async () => {
    vi.stubEnv(FINDINGS, undefined);
    searchText('log', TOKEN);
    expect(await findings()).toEqual([]);
  });
});
