import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { classify } from '../../../../../src/api/server/request/classify.ts';
import { printTarget } from '../../../../../src/api/server/request/target.ts';
import { HttpError } from '../../../../../src/api/server/errors.ts';

describe('the kind of a request', () => {
  it.each([
    ['POST', '/query/sql', 'pass'],
    ['POST', '/query/sql/', 'pass'],
    ['GET', '/query/sql?sql=SELECT%201', 'pass'],
    ['POST', '/query/sql?doPaginate=false', 'pass'],
    ['POST', '/query/sql?doPaginate=true', 'submit'],
    ['POST', '/query/sql?numRows=1&getCursor=true', 'submit'],
    // The schema rejects it; until then the limits of a submission apply.
    ['POST', '/query/sql?getCursor=yes', 'submit'],
    ['POST', '/query', 'pass'],
    ['GET', '/sql?sql=x', 'pass'],
    ['POST', '/query/sql/queryFingerprint', 'pass'],
    ['POST', '/validateMultiStageQuery', 'pass'],
    ['POST', '/query/timeseries', 'other-query'],
    ['GET', '/timeseries/api/v1/query_range', 'other-query'],
    ['GET', '/query/1/results?offset=0', 'page'],
    ['GET', '/query/1/metadata', 'metadata'],
    ['GET', '/query/resultStore', 'result-list'],
    ['DELETE', '/query/resultStore/1', 'result-delete'],
    ['GET', '/query/gateway', 'identity'],
    ['GET', '/responseStore', 'result-list'],
    ['GET', '/responseStore/1', 'metadata'],
    ['GET', '/responseStore/1/results', 'page'],
    ['DELETE', '/responseStore/1', 'result-delete'],
    ['POST', '/responseStore/1', 'controller'],
    ['GET', '/responseStore/1/other', 'controller'],
    ['GET', '/query/1', 'query-state'],
    ['DELETE', '/query/1', 'query-state'],
    ['GET', '/query/mine', 'query-list'],
    ['DELETE', '/query/broker/1', 'controller'],
    ['POST', '/query/sql?doPaginate=true&async=true', 'submit'],
    ['POST', '/query/sql?async=true', 'pass'],
    ['GET', '/api/v1/rbac-manager/roles/srn2:role%23name', 'rbac'],
    ['GET', '/api/v1/gateway', 'info'],
    ['GET', '/api/v1/other', 'unknown'],
    ['GET', '/clusterHealth/list', 'health'],
    ['GET', '/clusterHealth/history', 'health'],
    ['POST', '/clusterHealth/mutes', 'health'],
    ['DELETE', '/clusterHealth/mutes/mute-1', 'health'],
    ['GET', '/clusterHealth/mutes/mute-1/x', 'controller'],
    ['GET', '/periodictask/run?taskName=x', 'task'],
    ['GET', '/docs/checks/X', 'docs'],
    ['GET', '/', 'ui'],
    ['GET', '/ui/assets/a.js', 'ui'],
    ['GET', '/tables/events/size', 'controller'],
    ['GET', '/constructor', 'controller'],
    ['GET', '/Query/sql', 'controller'],
  ])('of %s %s is %s', (method, url, kind) => {
    expect(classify(method, url).kind).toBe(kind);
  });

  it.each([
    '/%71uery/sql',
    '/query/s%71l',
    '/query/%73ql',
    '/sql?%73ql=SELECT+1',
    '/query/sql?do%50aginate=true',
    '/query/sql?sql=a&s[]=b',
    '/query/./sql',
    '/query/%2e/sql',
    '/query//sql',
    '//query/sql',
    '/query/sql;x=1',
    '/query/sql%3Bx',
    '/query%2Fsql',
    '/query\\sql',
    '/query/sql?sql=%ff',
    '/query/sql?sql=%C0%AF',
    '/query/sql#x',
    'http://host/query/sql',
    '*',
  ])('is none for %s: 400', (url) => {
    expect(() => classify('GET', url)).toThrow(HttpError);
  });
});

it('every documented operation has a kind of the gateway, not of the engine', () => {
  const file = join(import.meta.dirname, '../../../../../openapi.json');
  const { paths } = JSON.parse(readFileSync(file, 'utf8')) as { paths: Record<string, object> };
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({ method: method.toUpperCase(), url: path.replaceAll(/\{[^}]*\}/g, 'x') })),
  );
  expect(operations.length).toBeGreaterThan(30);
  const unclassified = operations.filter(({ method, url }) =>
    ['controller', 'other-query', 'unknown'].includes(classify(method, url).kind),
  );
  expect(unclassified).toEqual([]);
});

describe('the canonical form of a URL', () => {
  it.each([
    ['/tables/a%20b/x?y=a%20b&z=c+d', '/tables/a%20b/x?y=a+b&z=c+d'],
    ['/segments/t%25b/', '/segments/t%25b'],
    ['/roles/srn2:role%23a', '/roles/srn2%3Arole%23a'],
  ])('of %s is %s', (url, printed) => {
    expect(printTarget(classify('GET', url))).toBe(printed);
    expect(classify('GET', printed).segments).toEqual(classify('GET', url).segments);
  });
});
