import { describe, expect, it } from 'vitest';
import { parseTables } from '../../../../src/health/gather/configs.ts';

/** The tags in the configuration of a table. */
function tagsOf(id: string, tenants: object, tiers: readonly object[] = []) {
  const node = {
    id,
    simpleFields: {
      tableName: id,
      tableType: id.endsWith('_OFFLINE') ? 'OFFLINE' : 'REALTIME',
      segmentsConfig: '{}',
      tenants: JSON.stringify(tenants),
      tableIndexConfig: '{}',
      tierConfigs: JSON.stringify(tiers),
    },
    listFields: {},
    mapFields: {},
  };
  const { consumingTag, completedTag, tierTags, serverTags } = parseTables([node]).tables[0]?.config ?? {};
  return { consumingTag, completedTag, tierTags, serverTags };
}

describe('the tags of the servers of a table', () => {
  const tiers = [
    { name: 'cold', serverTag: 'Cold_OFFLINE' },
    { name: 'other storage', storageType: 'x' },
  ];

  it('are those of its tenant', () => {
    expect(tagsOf('t_OFFLINE', { server: 'A' }, tiers)).toEqual({
      consumingTag: undefined,
      completedTag: 'A_OFFLINE',
      tierTags: ['Cold_OFFLINE'],
      serverTags: ['A_OFFLINE', 'Cold_OFFLINE'],
    });
    expect(tagsOf('t_REALTIME', { server: 'A' })).toEqual({
      consumingTag: 'A_REALTIME',
      completedTag: 'A_REALTIME',
      tierTags: [],
      serverTags: ['A_REALTIME'],
    });
  });

  it('are separate for consuming and completed segments where the configuration says so', () => {
    const tagOverrideConfig = { realtimeConsuming: 'A_REALTIME', realtimeCompleted: 'A_OFFLINE' };
    expect(tagsOf('t_REALTIME', { server: 'A', tagOverrideConfig })).toMatchObject({
      consumingTag: 'A_REALTIME',
      completedTag: 'A_OFFLINE',
    });
  });
});
