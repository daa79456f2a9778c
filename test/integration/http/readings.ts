import { gzipSync } from 'node:zlib';
import { Random } from '../../fuzz/http/random.ts';
import type { RawRequest } from '../../support/raw-client.ts';
import { BIG5, GBK, hidden, SHIFT_JIS } from './hidden-sql.ts';

export const OPEN = 'openNotes';
export const SECRET = 'secretNotes';

const open = `SELECT note FROM ${OPEN} ORDER BY note LIMIT 20`;
const secret = `SELECT note FROM ${SECRET} LIMIT 20`;
const quoted = JSON.stringify;
const escaped = (text: string): string =>
  Array.from({ length: text.length }, (_, i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`).join('');
const swapped = (text: string): Buffer => Buffer.from(text, 'utf16le').swap16();

/** A request that servers may interpret differently. */
export interface Reading {
  readonly name: string;
  readonly request: RawRequest;
  /** Whether it has only one meaning, so that the gateway must forward it. */
  readonly plain: boolean;
}

export const CONTENT_TYPES = [
  'application/json',
  'application/json; charset=utf-8',
  'application/json; charset=utf-8; charset=shift_jis',
  'application/json; charset=utf-8; charset=gbk',
  'application/json; charset=utf-8; charset=big5',
  'application/json; xcharset=utf-8; charset=shift_jis',
  'application/json; charset=utf-8; xcharset=gbk',
  'application/json; x="charset=utf-8"; charset=shift_jis',
  'application/json; x="; charset=utf-8"; charset=gbk',
  'application/json; charset=shift_jis',
  'application/json;charset=GBK',
  'application/json; Charset="big5"',
  "application/json; charset='gbk'",
  'application/json; charset=utf-16',
  'application/json; charset=utf-16le',
  'application/json; charset=utf-7',
  'application/json; charset=iso-2022-jp',
  'application/json; charset=iso-8859-1',
  'application/json; charset=cp037',
  "application/json; charset*=utf-8''gbk",
  'text/plain; charset=gbk',
  'text/plain',
  'application/x-www-form-urlencoded',
  'application/x-www-form-urlencoded; charset=shift_jis',
  'multipart/form-data; boundary=x',
  '*/*',
  '',
] as const;

const BODIES: Readonly<Record<string, string | Buffer>> = {
  'plain open': quoted({ sql: open }),
  'plain secret': quoted({ sql: secret }),
  'open with escapes': `{"sql":"${escaped(open)}"}`,
  'secret with escapes': `{"sql":"${escaped(secret)}"}`,
  'escaped key': `{"${escaped('sql')}":${quoted(secret)}}`,
  'open, then secret': `{"sql":${quoted(open)},"sql":${quoted(secret)}}`,
  'secret, then open': `{"sql":${quoted(secret)},"sql":${quoted(open)}}`,
  'open, then secret with an escaped key': `{"sql":${quoted(open)},"s\\u0071l":${quoted(secret)}}`,
  'secret with an escaped key, then open': `{"s\\u0071l":${quoted(secret)},"sql":${quoted(open)}}`,
  'another case of the key': `{"sql":${quoted(open)},"SQL":${quoted(secret)}}`,
  'another key': `{"sql":${quoted(open)},"pql":${quoted(secret)},"query":${quoted(secret)}}`,
  'pql alone': `{"pql":${quoted(secret)}}`,
  'nested before': `{"a":{"sql":${quoted(secret)}},"sql":${quoted(open)}}`,
  'nested after': `{"sql":${quoted(open)},"trace":{"sql":${quoted(secret)}}}`,
  'nested as sql': `{"sql":{"sql":${quoted(secret)}}}`,
  'a list as sql': `{"sql":[${quoted(secret)}]}`,
  'two bodies': `{"sql":${quoted(open)}}{"sql":${quoted(secret)}}`,
  'two bodies, secret first': `{"sql":${quoted(secret)}}\n{"sql":${quoted(open)}}`,
  'a comment': `{"sql":${quoted(open)}/*,"sql":${quoted(secret)}*/}`,
  'single quotes': `{'sql':'${secret}'}`,
  'no quotes': `{sql:${quoted(secret)}}`,
  'NUL in the key': `{"sql\\u0000":${quoted(secret)},"sql":${quoted(open)}}`,
  'a mark before': `\ufeff${quoted({ sql: open })}`,
  'a mark before secret': `\ufeff${quoted({ sql: secret })}`,
  'UTF-16': Buffer.from(`\ufeff${quoted({ sql: secret })}`, 'utf16le'),
  'UTF-16 without a mark': Buffer.from(quoted({ sql: secret }), 'utf16le'),
  'UTF-16, big end first': swapped(`\ufeff${quoted({ sql: secret })}`),
  'UTF-16, big end first, without a mark': swapped(quoted({ sql: secret })),
  'UTF-7': `{"sql":"SELECT note FROM ${OPEN} WHERE note = '+ACcALA-'"}`,
  'Latin-1': Buffer.from(`{"sql":"SELECT note FROM ${OPEN} WHERE note <> '\xe9'"}`, 'latin1'),
  'hidden by Shift_JIS': hidden(SHIFT_JIS, OPEN, SECRET),
  'hidden by GBK': hidden(GBK, OPEN, SECRET),
  'hidden by Big5': hidden(BIG5, OPEN, SECRET),
  'hidden by ISO-2022-JP': `{"sql":"SELECT '\\u001b$B', note FROM ${SECRET} -- ' FROM ${OPEN}"}`,
  'hidden by an escape character': Buffer.from(
    `{"sql":"SELECT '\x1b$B\\u0027\x1b(B, note FROM ${SECRET} -- ' FROM ${OPEN}"}`,
  ),
  'a lone surrogate': `{"sql":"SELECT note FROM ${OPEN} WHERE note <> '\\ud800'"}`,
  'a surrogate before a quote': `{"sql":"SELECT note FROM ${OPEN} WHERE note <> '\\ud800\\u0027 , note FROM ${SECRET} -- '"}`,
  'a NUL in the text': `{"sql":"SELECT note FROM ${OPEN}\\u0000, ${SECRET}"}`,
  'a line separator in a comment': `{"sql":"SELECT note FROM -- \\u2028 ${OPEN}\\n${SECRET}"}`,
  'a carriage return in a comment': `{"sql":"SELECT note FROM -- \\r ${OPEN} -- \\n${SECRET}"}`,
  'a backslash before a quote': `{"sql":"SELECT note, 'a\\\\' FROM ${SECRET} -- ' FROM ${OPEN}"}`,
  'a quote in quotes': `{"sql":"SELECT note, \\"a'\\" FROM ${SECRET} -- ' FROM ${OPEN}"}`,
  'back quotes': `{"sql":"SELECT note, \`a'\` FROM ${SECRET} -- ' FROM ${OPEN}"}`,
  'a comment in a comment': `{"sql":"SELECT note FROM /* /* */ ${SECRET} -- */ ${OPEN}"}`,
  'a hint': `{"sql":"SELECT /*+ x(a='1') */ note FROM ${SECRET}"}`,
  'a comment by #': `{"sql":"SELECT note FROM ${OPEN} # , ${SECRET}"}`,
  'a comment by //': `{"sql":"SELECT note FROM // ${OPEN}\\n ${SECRET}"}`,
  'two statements': quoted({ sql: `${open}; ${secret}` }),
  'a statement after a semicolon': quoted({ sql: `;${secret}` }),
  'a sub-query': quoted({
    sql: `SELECT note FROM ${OPEN} WHERE IN_SUBQUERY(note, 'SELECT ID_SET(note) FROM ${SECRET}') = 1`,
  }),
  'a lookup': quoted({ sql: `SELECT LOOKUP('${SECRET}', 'note', 'note', note) FROM ${OPEN}` }),
  'a join': quoted({ sql: `SELECT a.note FROM ${OPEN} a JOIN ${SECRET} b ON a.note = b.note` }),
  'an alias that is a keyword': quoted({ sql: `SELECT note FROM ${OPEN} for, ${SECRET}` }),
  'an alias of look-alikes': quoted({ sql: `SELECT note ıs dıstinct FROM ${SECRET} AS c, ${OPEN}` }),
  'a database in the name': quoted({ sql: `SELECT note FROM default.${SECRET}` }),
  'a type in the name': quoted({ sql: `SELECT note FROM ${SECRET}_OFFLINE` }),
  'another case of the name': quoted({ sql: `SELECT note FROM ${SECRET.toUpperCase()}` }),
  'quotes around the name': quoted({ sql: `SELECT note FROM "${SECRET}"` }),
  'options with SQL': `{"sql":${quoted(open)},"queryOptions":"sql=${secret}"}`,
  options: `{"sql":${quoted(open)},"queryOptions":"timeoutMs=10000"}`,
  trace: `{"sql":${quoted(open)},"trace":"false"}`,
  'multi-stage by option': `{"sql":${quoted(secret)},"queryOptions":"useMultistageEngine=false"}`,
  'SET before': quoted({ sql: `SET timeoutMs=10000; ${open}` }),
  'a form': `sql=${encodeURIComponent(secret)}`,
  'SQL alone': secret,
  gzip: gzipSync(quoted({ sql: secret })),
  'percent-encoding': encodeURIComponent(quoted({ sql: secret })),
  'the end of a form': `--x\r\nContent-Disposition: form-data; name="sql"\r\n\r\n${secret}\r\n--x--\r\n`,
  'white space': ` \t\r\n{ "sql" :\n${quoted(open)} }\r\n`,
  'form feed': `\f{"sql":${quoted(secret)}}`,
  'a number that is too long': `{"sql":${quoted(open)},"trace":1e999999}`,
  'a plus': `{"sql":"SELECT+note+FROM+${SECRET}"}`,
};

export const TARGETS = [
  '/query/sql',
  '/sql',
  `/query/sql?sql=${encodeURIComponent(secret)}`,
  `/sql?sql=${encodeURIComponent(secret)}`,
  '/query/sql?doPaginate=true&numRows=20',
  '/query/sql?queryOptions=trace%3Db',
  '/query/%73ql',
  '/query/sql;x=y',
  '/query//sql',
];

const HEADERS: readonly (readonly (readonly [string, string])[])[] = [
  [],
  [['Content-Encoding', 'gzip']],
  [['Content-Encoding', 'identity']],
  [['Database', 'default']],
  [['Database', SECRET]],
  [
    ['Database', 'x'],
    ['Connection', 'database'],
  ],
  [['Connection', 'content-type']],
  [['X-HTTP-Method-Override', 'GET']],
  [['Content-Type', 'application/json; charset=gbk']],
  [['Content-Language', 'ja']],
  [['Accept-Charset', 'shift_jis']],
  [['Accept', 'application/xml']],
];

const GETS = [
  `sql=${encodeURIComponent(open)}`,
  `sql=${encodeURIComponent(secret)}`,
  `sql=${encodeURIComponent(open)}&sql=${encodeURIComponent(secret)}`,
  `sql=${encodeURIComponent(secret)}&sql=${encodeURIComponent(open)}`,
  `sql=${encodeURIComponent(open)}&%73ql=${encodeURIComponent(secret)}`,
  `%73ql=${encodeURIComponent(secret)}`,
  `sql=${encodeURIComponent(open)};sql=${encodeURIComponent(secret)}`,
  `sql=${encodeURIComponent(open).replaceAll('%20', '+')}`,
  `sql=SELECT%20note%20FROM%20${OPEN}%20--%C0%8A%2C${SECRET}`,
  `sql=SELECT%20%27%E3%81%82%5C%27%2C%20note%20FROM%20${SECRET}%20--%20%27%20FROM%20${OPEN}`,
  `sql=SELECT%20%27%82%27%2C%20note%20FROM%20${SECRET}%20--%20%27%20FROM%20${OPEN}`,
  `sql=SELECT+note+FROM+%2B${SECRET}`,
  `sql=${encodeURIComponent(secret).replaceAll('%', '%25')}`,
  `a=b&SQL=${encodeURIComponent(secret)}&sql=${encodeURIComponent(open)}`,
  `sql[]=${encodeURIComponent(secret)}`,
  `sql=${encodeURIComponent(open)}&queryOptions=${encodeURIComponent('timeoutMs=10000')}`,
  `sql=${encodeURIComponent(open)}#&sql=${encodeURIComponent(secret)}`,
  `sql=${encodeURIComponent(open)}%00${encodeURIComponent(secret)}`,
];

const typed = (type: string): readonly (readonly [string, string])[] => (type === '' ? [] : [['Content-Type', type]]);
/** Bodies with the same meaning for every parser, if sent as JSON in UTF-8. */
const PLAIN = new Set(['plain open', 'open with escapes', 'white space', 'options', 'trace', 'SET before']);

const PLAIN_TARGETS: ReadonlySet<string> = new Set(TARGETS.slice(0, 2));
const PLAIN_TYPES: ReadonlySet<string> = new Set(CONTENT_TYPES.slice(0, 2));

function post(name: string, type: string, target: string, headers: RawRequest['headers'] = []): Reading {
  return {
    name: `${name} | ${type} | ${target} | ${JSON.stringify(headers)}`,
    request: { target, headers: [...typed(type), ...headers], body: BODIES[name] ?? '' },
    plain: PLAIN.has(name) && headers.length === 0 && PLAIN_TARGETS.has(target) && PLAIN_TYPES.has(type),
  };
}

function get(path: string, query: string): Reading {
  const target = `${path}?${query}`;
  return { name: `GET ${target}`, request: { target }, plain: query === GETS[0] || query === GETS[7] };
}

/** Every body with every content type, with every target and with every header; and as many random combinations. */
export function readings(seed: number, count: number): Reading[] {
  const [json] = CONTENT_TYPES;
  const names = Object.keys(BODIES);
  const random = new Random(seed);
  return [
    ...GETS.flatMap((query) => [get('/query/sql', query), get('/sql', query)]),
    ...names.flatMap((name) => TARGETS.map((target) => post(name, json, target))),
    ...names
      .filter((name) => /plain|hidden|UTF|gzip|form|Latin/.test(name))
      .flatMap((name) => CONTENT_TYPES.map((type) => post(name, type, '/query/sql'))),
    ...['plain open', 'plain secret', 'gzip', 'hidden by GBK'].flatMap((name) =>
      HEADERS.map((headers) => post(name, json, '/query/sql', headers)),
    ),
    ...Array.from({ length: count }, () =>
      post(random.pick(names), random.pick(CONTENT_TYPES), random.pick(TARGETS), random.pick(HEADERS)),
    ),
  ];
}
