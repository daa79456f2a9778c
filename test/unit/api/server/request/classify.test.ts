import { describe, expect, it } from 'vitest';
import { classify } from '../../../../../src/api/server/request/classify.ts';
import { printTarget } from '../../../../../src/api/server/request/target.ts';
import { HttpError } from '../../../../../src/api/server/errors.ts';

describe('the kind of a request', () => {
  it.each([
    ['/query/sql', 'pass'],
    ['/query/sql/', 'pass'],
    ['/query/sql?sql=SELECT%201', 'pass'],
    ['/query/sql?doPaginate=false', 'pass'],
    ['/query/sql?doPaginate=true', 'submit'],
    ['/query/sql?numRows=1&getCursor=true', 'submit'],
    // The schema rejects it; until then the limits of a submission apply.
    ['/query/sql?getCursor=yes', 'submit'],
    ['/query', 'pass'],
    ['/sql?sql=x', 'pass'],
    ['/query/sql/queryFingerprint', 'pass'],
    ['/query/sql/validateSyntax', 'pass'],
    ['/validateMultiStageQuery', 'pass'],
    ['/query/timeseries', 'control'],
    ['/timeseries/api/v1/query_range', 'control'],
    ['/query/1/results?offset=0', 'page'],
    ['/query/1/metadata', 'control'],
    ['/query/resultStore', 'control'],
    ['/query/resultStore/1', 'control'],
    ['/responseStore', 'control'],
    ['/responseStore/1', 'control'],
    ['/responseStore/1/results', 'page'],
    ['/responseStore/1/other', 'control'],
    ['/query/sql?doPaginate=true&async=true', 'submit'],
    ['/query/sql?async=true', 'pass'],
    ['/api/v1/rbac-manager/roles/srn2:role%23name', 'control'],
    ['/api/v1/gateway', 'control'],
    ['/clusterHealth/list', 'control'],
    ['/periodictask/run?taskName=x', 'control'],
    ['/', 'control'],
    ['/tables/events/size', 'control'],
    ['/constructor', 'control'],
    ['/Query/sql', 'control'],
  ])('of %s is %s', (url, kind) => {
    expect(classify(url).kind).toBe(kind);
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
    expect(() => classify(url)).toThrow(HttpError);
  });
});

describe('the canonical form of a URL', () => {
  it.each([
    ['/tables/a%20b/x?y=a%20b&z=c+d', '/tables/a%20b/x?y=a+b&z=c+d'],
    ['/segments/t%25b/', '/segments/t%25b'],
    ['/roles/srn2:role%23a', '/roles/srn2%3Arole%23a'],
  ])('of %s is %s', (url, printed) => {
    expect(printTarget(classify(url))).toBe(printed);
    expect(classify(printed).segments).toEqual(classify(url).segments);
  });
});
