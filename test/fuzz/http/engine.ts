import { type EngineRequest, headerOf, StubEngine } from '../../support/stub-engine.ts';
import { engineBody, engineFraming, markersIn, UNMARKED_BODY } from './markers.ts';

const SQL_PATHS = new Set(['/query/sql', '/query', '/sql']);
/** Paths that the clients of the fuzzer may reach. */
const CONTROLLER_PATHS = [
  /^\/tables\/[^/?]+\/schema$/,
  /^\/tables$/,
  /^\/cluster\/info$/,
  /^\/schemas$/,
  /^\/brokers(\/[a-zA-Z]+)?$/,
];
const BODY_FIELDS = new Set(['sql', 'queryOptions', 'trace', 'debugOptions']);
const HEADERS = new Set([
  ...[
    'host',
    'connection',
    'content-type',
    'content-length',
    'accept',
    'accept-encoding',
    'accept-language',
    'user-agent',
  ],
  ...[
    'authorization',
    'database',
    'pinot-use-http-status-for-errors',
    'x-request-id',
    'x-correlation-id',
    'traceparent',
    'tracestate',
  ],
]);

/** @returns the differences from a request in the gateway's own form */
export function notCanonical(request: EngineRequest): string[] {
  const wrong: string[] = [];
  const names = request.headers.map(([name]) => name.toLowerCase());
  for (const name of names) if (!HEADERS.has(name)) wrong.push(`header \`${name}\``);
  for (const name of new Set(names)) {
    if (names.indexOf(name) !== names.lastIndexOf(name)) wrong.push(`header \`${name}\` twice`);
  }
  return [...wrong, ...(SQL_PATHS.has(request.path) ? queryWrongs(request) : controllerWrongs(request))];
}

function queryWrongs(request: EngineRequest): string[] {
  const wrong: string[] = [];
  if (request.method !== 'POST') wrong.push(`${request.method} ${request.path}`);
  if (!SQL_PATHS.has(request.target)) wrong.push(`target of a query with more than its path`);
  const type = headerOf(request, 'content-type');
  if (type !== 'application/json; charset=utf-8') wrong.push(`content type \`${type ?? ''}\``);
  return [...wrong, ...bodyWrongs(request.body)];
}

function bodyWrongs(bytes: Buffer): string[] {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    const body = JSON.parse(text) as Record<string, unknown>;
    // JSON printed from an object has no repeated key, and no white space or escapes that parsers interpret differently.
    if (JSON.stringify(body) !== text) return ['a body that is not printed canonically'];
    return Object.keys(body).flatMap((field) => (BODY_FIELDS.has(field) ? [] : [`field \`${field}\``]));
  } catch (error) {
    return [`a body that is not JSON in UTF-8: ${String(error)}`];
  }
}

function controllerWrongs({ method, target, path, body }: EngineRequest): string[] {
  const wrong: string[] = [];
  // The question whether there is a path, which has nothing else of the request.
  const asksForPath = method === 'OPTIONS' && !target.includes('?');
  if (!asksForPath && method !== 'GET' && method !== 'HEAD') wrong.push(`${method} at the controller`);
  // A colon in a name has one canonical spelling, which every server decodes alike.
  if (target.replaceAll('%3A', ':') !== path)
    wrong.push(`a target that is spelled otherwise than it reads: ${target.slice(0, 100)}`);
  if (!asksForPath && !CONTROLLER_PATHS.some((pattern) => pattern.test(target)))
    wrong.push(`path ${target.slice(0, 100)}`);
  if (body.length > 0) wrong.push(`a GET with a body`);
  return wrong;
}

/** Each problem of requests is reported once, up to this number. */
const MAX_WRONGS = 40;

/** An engine that responds to each marker with its body, and checks every request. */
export function fuzzEngine(): { readonly engine: StubEngine; readonly takeWrongs: () => string[] } {
  const engine = new StubEngine(['orders_OFFLINE']);
  const wrongs = new Set<string>();
  let taken = 0;
  engine.responder = (request) => {
    for (const wrong of notCanonical(request)) wrongs.add(wrong);
    engine.requests.length = 0;
    const [marker] = markersIn(`${request.target} ${request.body.toString('latin1')}`);
    if (marker === undefined) return { body: UNMARKED_BODY };
    return { body: engineBody(marker), framing: engineFraming(marker) };
  };
  return {
    engine,
    takeWrongs: () => {
      const all = [...wrongs, ...engine.malformed.map((text) => `malformed HTTP: ${text}`)];
      const next = all.slice(taken, MAX_WRONGS);
      taken += next.length;
      return next.map((text) => `the engine got ${text}`);
    },
  };
}
