import { describe, expect, it } from 'vitest';
import { parseResponseHead } from '../../../../src/engine/wire/response-head.ts';

const head = (...lines: string[]) => lines.join('\r\n');

describe('the head of an answer', () => {
  it('keeps the spelling and order of its headers', () => {
    const text = head('HTTP/1.1 200 OK', 'Content-Type: application/json', 'X-a:1', 'x-A: \t2 ', 'Content-Length: 12');
    expect(parseResponseHead(text, 'POST')).toEqual({
      status: 200,
      rawHeaders: ['Content-Type', 'application/json', 'X-a', '1', 'x-A', '2', 'Content-Length', '12'],
      framing: 12,
      keepAlive: true,
    });
  });

  it.each([
    ['a length', ['Content-Length: 3'], 'POST', 3, true],
    ['the same length twice', ['Content-Length: 3', 'content-length: 3'], 'POST', 3, true],
    ['chunks', ['Transfer-Encoding: Chunked'], 'POST', 'chunked', true],
    ['neither', [], 'POST', 'until-close', false],
    ['a connection that closes', ['Content-Length: 3', 'Connection: Close'], 'POST', 3, false],
    ['an answer to HEAD', ['Content-Length: 3'], 'HEAD', 0, true],
  ] as const)('tells where the body ends by %s', (_what, headers, method, framing, keepAlive) => {
    expect(parseResponseHead(head('HTTP/1.1 200 OK', ...headers), method)).toMatchObject({ framing, keepAlive });
  });

  it.each([['HTTP/1.1 204 No Content'], ['HTTP/1.1 304 Not Modified'], ['HTTP/1.1 100']])(
    'knows that `%s` has no body',
    (line) => {
      expect(parseResponseHead(head(line, 'Content-Length: 9'), 'GET').framing).toBe(0);
    },
  );

  it('does not keep a connection of HTTP/1.0', () => {
    expect(parseResponseHead(head('HTTP/1.0 200 OK', 'Content-Length: 3'), 'GET').keepAlive).toBe(false);
  });

  it.each([
    ['no HTTP', head('SSH-2.0-OpenSSH_9')],
    ['a newer HTTP', head('HTTP/2.0 200 OK')],
    ['a status of two digits', head('HTTP/1.1 20 OK')],
    ['a length and chunks', head('HTTP/1.1 200 OK', 'Content-Length: 3', 'Transfer-Encoding: chunked')],
    ['two lengths', head('HTTP/1.1 200 OK', 'Content-Length: 3', 'Content-Length: 4')],
    ['a list of lengths', head('HTTP/1.1 200 OK', 'Content-Length: 3, 3')],
    ['a negative length', head('HTTP/1.1 200 OK', 'Content-Length: -3')],
    ['another transfer encoding', head('HTTP/1.1 200 OK', 'Transfer-Encoding: gzip, chunked')],
    ['two transfer encodings', head('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked', 'Transfer-Encoding: chunked')],
    ['a folded line', head('HTTP/1.1 200 OK', 'A: b', ' c')],
    ['a line feed alone', 'HTTP/1.1 200 OK\r\nA: b\nContent-Length: 3'],
    ['a carriage return alone', 'HTTP/1.1 200 OK\r\nA: b\rC: d'],
    ['a space before the colon', head('HTTP/1.1 200 OK', 'Content-Length : 3')],
    ['a header without a name', head('HTTP/1.1 200 OK', ': 3')],
    ['a line that is no header', head('HTTP/1.1 200 OK', 'hello')],
    ['a zero byte', head('HTTP/1.1 200 OK', 'A: b\u0000')],
  ])('refuses %s', (_what, text) => {
    expect(() => parseResponseHead(text, 'POST')).toThrow(/answer/);
  });
});
