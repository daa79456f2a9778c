import { describe, expect, it } from 'vitest';
import { hashToken, parseTokenFile, TokenFileAuthenticator } from '../../../../src/access/authenticators/token-file.ts';

const line = (token: string, more: object = {}): string =>
  JSON.stringify({ sha256: hashToken(token), user: 'ann@example.com', ...more });

async function open(content: string, time = 0) {
  const state = { content: content as string | Error, time, reads: 0, problems: [] as string[] };
  const authenticator = await TokenFileAuthenticator.open({
    read: async () => {
      state.reads++;
      if (state.content instanceof Error) throw state.content;
      return state.content;
    },
    clock: { now: () => state.time, monotonic: () => state.time },
    onProblem: (message) => state.problems.push(message),
  });
  const ask = (token: string) => authenticator.authenticate({ scheme: 'bearer', token });
  return { state, ask };
}

describe('token file', () => {
  it('finds a token by its hash', async () => {
    const { ask } = await open(`# people\n${line('secret', { groups: ['devs'] })}\n`);
    expect(await ask('secret')).toEqual({
      outcome: 'authenticated',
      principal: {
        kind: 'user',
        srn: 'srn2:user#ann@example.com',
        id: 'ann@example.com',
        groups: ['devs'],
        domain: 'example.com',
        authenticator: 'token-file',
      },
    });
    expect(await ask('other')).toEqual({ outcome: 'not-mine' });
  });

  it('with one token in two lines is rejected, because the last one would decide whose token it is', async () => {
    const lines = [line('a'), '# people', line('b'), line('a', { user: 'bob@example.com' })];
    expect(() => parseTokenFile(lines.join('\n'))).toThrow(
      'line 4 of the token file has the `sha256` of line 1: each may occur once',
    );
  });

  it('reloads the file, and keeps its tokens when the file becomes invalid', async () => {
    const { state, ask } = await open(line('old'));
    state.content = line('new');
    state.time = 2000;
    expect((await ask('old')).outcome).toBe('not-mine');
    expect((await ask('new')).outcome).toBe('authenticated');
    state.content = 'new-token-in-clear\n';
    state.time = 4000;
    expect((await ask('new')).outcome).toBe('authenticated');
    state.content = new Error('EIO');
    state.time = 6000;
    expect((await ask('new')).outcome).toBe('authenticated');
    expect(state.problems).toEqual([expect.stringContaining('line 1 of the token file is not JSON'), 'EIO']);
    expect(state.problems.join()).not.toContain('in-clear');
  });

  it('is read again after two seconds, whenever it was read before', async () => {
    const { state, ask } = await open(line('t'), 60_000);
    state.time += 1999;
    await ask('t');
    expect(state.reads).toBe(1);
    state.time += 1;
    await Promise.all([ask('t'), ask('t')]);
    expect(state.reads).toBe(2);
  });

  it('rejects an expired token', async () => {
    const { state, ask } = await open(line('t', { expiresAt: '1970-01-01T00:00:01Z' }));
    expect((await ask('t')).outcome).toBe('authenticated');
    state.time = 1000;
    expect(await ask('t')).toEqual({
      outcome: 'rejected',
      message: 'the token of `ann@example.com` expired at 1970-01-01T00:00:01Z',
    });
  });

  it.each([
    ['{"user":"a"}', 'has no `sha256`'],
    [line('t', { user: 'a b' }), 'has no `user`'],
    [line('t', { groups: 'devs' }), 'has invalid `groups`'],
    [line('t', { expiresAt: 'soon' }), 'has an invalid `expiresAt`'],
    [line('t', { sha256: 'abc' }), 'has no `sha256`'],
    [line('t', { sha256: 5 }), 'has no `sha256`'],
    [line('t', { user: 5 }), 'has no `user`'],
    [line('t', { groups: ['a', 5] }), 'has invalid `groups`'],
    [line('t', { groups: [''] }), 'has invalid `groups`'],
    [line('t', { groups: ['["a"]'] }), 'has invalid `groups`'],
    [line('t', { group: ['contractors'] }), 'has an unknown field'],
    [line('t', { expiresAt: 2030 }), 'has an invalid `expiresAt`'],
    ['[]', 'has no `sha256`'],
    ['null', 'has no `sha256`'],
  ])('reports the problem for %s', (content, message) => {
    expect(() => parseTokenFile(`\n${content}`)).toThrow(`line 2 of the token file ${message}`);
  });
});
