import type { JSX } from 'preact';
import { Badge, Name } from '../../components/basics.tsx';
import { Loaded } from '../../components/loaded.tsx';
import { CopyAs } from '../../components/copy-as.tsx';
import { Facts } from '../../components/facts.tsx';
import { TableLink } from '../../components/name-links.tsx';
import { Table } from '../../components/table.tsx';
import { ApiError, call } from '../../lib/api.ts';
import { whole } from '../../lib/format.ts';
import { useMay } from '../../lib/session.ts';
import type { InstanceNames, PinotInstance, ServerMap, TableNames } from '../../lib/types.ts';
import { useData } from '../../lib/use-data.ts';
import { KnownFindings } from './known-findings.tsx';

/** Maximum tables whose segments are counted. */
const MAX_TABLES = 20;

/** Whether an instance is live; undefined for versions of Pinot without this list. */
async function isLive(name: string, signal: AbortSignal): Promise<boolean | undefined> {
  try {
    return (await call<InstanceNames>('/liveinstances', { signal })).instances.includes(name);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}

/** The tenants of a server, from its tags. */
const tenantsOf = (tags: readonly string[]): string[] => [
  ...new Set(tags.flatMap((tag) => /^(.+)_(?:OFFLINE|REALTIME)$/.exec(tag)?.[1] ?? [])),
];

interface TableOnServer {
  readonly table: string;
  /** Undefined where they were not counted. */
  readonly segments: number | undefined;
}

/** The tables of a server with its segments, from the tables of its tenants. */
async function tablesOn(instance: PinotInstance, signal: AbortSignal): Promise<TableOnServer[]> {
  const lists = await Promise.all(
    tenantsOf(instance.tags).map((tenant) =>
      call<TableNames>(`/tenants/${encodeURIComponent(tenant)}/tables?type=server`, { signal }),
    ),
  );
  const names = [...new Set(lists.flatMap(({ tables }) => tables))].toSorted();
  const counted = names.slice(0, MAX_TABLES).map(async (table) => {
    const maps = await call<ServerMap>(`/segments/${encodeURIComponent(table)}/servers`, { signal });
    const segments = maps.flatMap(({ serverToSegmentsMap }) => serverToSegmentsMap[instance.instanceName] ?? []);
    return { table, segments: segments.length };
  });
  const others = names.slice(MAX_TABLES).map((table) => ({ table, segments: undefined }));
  return [...(await Promise.all(counted)), ...others].filter(({ segments }) => segments !== 0);
}

function TablesOnServer(props: { instance: PinotInstance }): JSX.Element {
  const { instance } = props;
  const data = useData(`tables on ${instance.instanceName}`, (signal) => tablesOn(instance, signal));
  return (
    <section aria-labelledby="server-tables">
      <h3 id="server-tables">Tables and segments</h3>
      <Loaded data={data} what="its tables">
        {(tables) =>
          tables.length === 0 ? (
            <p class="muted">No segment is on it.</p>
          ) : (
            <Table label="Tables with segments on it" columns={['Table', '#Segments']}>
              {tables.map(({ table, segments }) => (
                <tr key={table}>
                  <td class="wrap">
                    <TableLink table={table} />
                  </td>
                  <td class="number">{segments === undefined ? 'not counted' : whole(segments)}</td>
                </tr>
              ))}
            </Table>
          )
        }
      </Loaded>
    </section>
  );
}

function State(props: { instance: PinotInstance; live: boolean | undefined }): JSX.Element {
  const { instance, live } = props;
  return (
    <>
      <Badge tone={instance.enabled ? 'good' : 'bad'}>{instance.enabled ? 'enabled' : 'disabled'}</Badge>{' '}
      {live !== undefined && <Badge tone={live ? 'good' : 'bad'}>{live ? 'live' : 'not live'}</Badge>}
    </>
  );
}

/** What is known of an instance: its state, tags, tables and segments, and the findings about it. */
export function InstanceDetail(props: { name: string }): JSX.Element {
  const { name } = props;
  const path = `/instances/${encodeURIComponent(name)}`;
  const mayTenants = useMay('GetTenant');
  const data = useData(path, (signal) => Promise.all([call<PinotInstance>(path, { signal }), isLive(name, signal)]));
  return (
    <article class="card">
      <h2>
        <Name text={name} />
      </h2>
      <Loaded data={data} what="the instance">
        {([instance, live]) => (
          <>
            <Facts
              facts={[
                ['State', <State key="state" instance={instance} live={live} />],
                ['Host', `${instance.hostName}:${instance.port}`],
                ['Tags', instance.tags.join(', ')],
              ]}
            />
            {mayTenants && name.startsWith('Server_') && <TablesOnServer instance={instance} />}
          </>
        )}
      </Loaded>
      <KnownFindings entity={{ kind: 'instance', name }} />
      <footer class="row">
        <CopyAs call={{ method: 'GET', path }} />
      </footer>
    </article>
  );
}
