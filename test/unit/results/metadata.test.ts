import { expect, it } from 'vitest';
import { metadataJson } from '../../../src/results/metadata.ts';
import { unreadableResult } from '../../../src/results/record-json.ts';

it('metadata has fields of the engine only with the type of the specification', () => {
  const { record } = unreadableResult({
    requestId: 'a',
    modifiedMs: 0,
    reason: '',
    bytes: 0,
    dataFile: 'a.rows',
    metadataFile: 'a.json',
  });
  const values = {
    exceptions: 'null',
    segmentStatistics: '[1]',
    traceInfo: '[]',
    numGroupsLimitReached: 'true',
    partialResult: '"true"',
    numServersQueried: '"3"',
    numServersResponded: '-1',
    totalDocs: '9007199254740993',
    timeUsedMs: 'false',
  };
  const fields = Object.entries(values).map(([name, value]) => ({ name, value }));
  const text = metadataJson({ ...record, fields });
  for (const [name, value] of Object.entries({
    ...values,
    ...{ exceptions: '[]', traceInfo: '{}', partialResult: 'false', numServersQueried: '0', timeUsedMs: '0' },
  }))
    expect(text).toContain(`"${name}":${value},`);
});
