import type { JSX } from 'preact';
import { Link, Name } from '../../components/basics.tsx';
import { Loaded } from '../../components/loaded.tsx';
import { CopyAs } from '../../components/copy-as.tsx';
import { Facts } from '../../components/facts.tsx';
import { InstanceLink } from '../../components/name-links.tsx';
import { Table } from '../../components/table.tsx';
import { call, rbac } from '../../lib/api.ts';
import { bytes, prettyJson, whole } from '../../lib/format.ts';
import { mayGrant, useMay, useSession } from '../../lib/session.ts';
import { selectAll } from '../../lib/sql.ts';
import type { MyQueries, ServerMap, TableConfigs, TableSize, WhoCan } from '../../lib/types.ts';
import { useData } from '../../lib/use-data.ts';
import { visible } from '../../lib/visible.ts';
import { AllowedSubjects } from '../who-can/allowed.tsx';
import { KnownFindings } from './known-findings.tsx';

const pathOf = (name: string): string => `/tables/${encodeURIComponent(name)}`;

/** Replicas, tenants, time column and retention of a table of one type. */
function Config(props: { type: string; config: NonNullable<TableConfigs[string]> }): JSX.Element {
  const { type, config } = props;
  const { replication, replicasPerPartition, timeColumnName, retentionTimeValue, retentionTimeUnit } =
    config.segmentsConfig;
  const retention = retentionTimeValue ? `${retentionTimeValue} ${retentionTimeUnit ?? ''}`.toLowerCase() : 'no end';
  return (
    <section aria-label={type}>
      <h3>{type}</h3>
      <Facts
        facts={[
          ['Replicas', replicasPerPartition ?? replication ?? ''],
          ['Tenants', `brokers ${config.tenants?.broker ?? ''}, servers ${config.tenants?.server ?? ''}`],
          ['Time column', timeColumnName ?? 'none'],
          ['Retention', retention],
        ]}
      />
      <details>
        <summary>Configuration</summary>
        <pre class="cell-full">{prettyJson(config)}</pre>
      </details>
    </section>
  );
}

/** A part of the page that is read when the configuration could be: who may not read that is not refused four times. */
function Storage(props: { name: string }): JSX.Element {
  const { name } = props;
  const size = useData(`${name} size`, (signal) => call<TableSize>(`${pathOf(name)}/size`, { signal }));
  const servers = useData(`${name} servers`, (signal) =>
    call<ServerMap>(`/segments/${encodeURIComponent(name)}/servers`, { signal }),
  );
  return (
    <section aria-labelledby="table-storage">
      <h3 id="table-storage">Size and replicas</h3>
      <Loaded data={size} what="the size">
        {({ reportedSizeInBytes }) => <p>{bytes(Math.max(0, reportedSizeInBytes))} on all servers together</p>}
      </Loaded>
      <Loaded data={servers} what="the servers">
        {(maps) => (
          <Table label="Servers with segments of it" columns={['Server', 'Of', '#Segments']}>
            {maps.flatMap(({ tableName, serverToSegmentsMap }) =>
              Object.entries(serverToSegmentsMap).map(([server, segments]) => (
                <tr key={`${tableName} ${server}`}>
                  <td class="wrap">
                    <InstanceLink instance={server} />
                  </td>
                  <td>{visible(tableName)}</td>
                  <td class="number">{whole(segments.length)}</td>
                </tr>
              )),
            )}
          </Table>
        )}
      </Loaded>
    </section>
  );
}

function Readers(props: { name: string }): JSX.Element {
  const question = new URLSearchParams({ action: 'Query', resource: `srn2:table#${props.name}` });
  const path = rbac(`/who-can?${question.toString()}`);
  const data = useData(path, (signal) => call<WhoCan>(path, { signal }));
  return (
    <section aria-labelledby="table-readers">
      <h3 id="table-readers">Who may query it</h3>
      <Loaded data={data} what="who may query it">
        {({ subjects }) => <AllowedSubjects subjects={subjects} />}
      </Loaded>
    </section>
  );
}

/** Maximum queries of the caller that are searched, and that are shown. */
const MAX_SEARCHED = 100;
const MAX_QUERIES = 10;

function RecentQueries(props: { name: string }): JSX.Element {
  const data = useData('mine', (signal) => call<MyQueries>(`/query/mine?limit=${MAX_SEARCHED}`, { signal }));
  const isNamed = (sql: string | undefined): boolean =>
    (sql?.match(/"[^"]+"|[\w.]+/g) ?? []).some((word) => word.replaceAll('"', '') === props.name);
  return (
    <section aria-labelledby="table-queries">
      <h3 id="table-queries">My recent queries of it</h3>
      <Loaded data={data} what="the queries">
        {({ queries }) => {
          const found = queries.filter(({ sql }) => isNamed(sql)).slice(0, MAX_QUERIES);
          if (found.length === 0) return <p class="muted">None.</p>;
          return (
            <ul class="rows">
              {found.map(({ requestId, sql = '' }) => (
                <li key={requestId}>
                  <Link to={`/queries?result=${encodeURIComponent(requestId)}`}>
                    <code class="sql">{visible(sql)}</code>
                  </Link>
                </li>
              ))}
            </ul>
          );
        }}
      </Loaded>
    </section>
  );
}

function TableActions(props: { name: string }): JSX.Element {
  const { name } = props;
  const session = useSession();
  return (
    <footer class="row">
      <Link to={`/queries?${new URLSearchParams({ sql: selectAll(name, 100) }).toString()}`}>Query it</Link>
      {mayGrant(session) && (
        <Link to={`/access?${new URLSearchParams({ tab: 'grant', table: name }).toString()}`}>Grant access to it</Link>
      )}
      <CopyAs call={{ method: 'GET', path: pathOf(name) }} />
    </footer>
  );
}

/** What is known of a table: its configuration, size and replicas, findings, who may query it, and the caller's queries of it. */
export function TableDetail(props: { name: string }): JSX.Element {
  const { name } = props;
  const mayAsk = useMay('SimulateAccess');
  const config = useData(pathOf(name), (signal) => call<TableConfigs>(pathOf(name), { signal }));
  return (
    <article class="card">
      <h2>
        <Name text={name} />
      </h2>
      <Loaded data={config} what="the configuration">
        {(types) => (
          <>
            {Object.entries(types).map(([type, one]) => one && <Config key={type} type={type} config={one} />)}
            <Storage name={name} />
          </>
        )}
      </Loaded>
      <KnownFindings entity={{ kind: 'table', name }} />
      {mayAsk && <Readers name={name} />}
      <RecentQueries name={name} />
      <TableActions name={name} />
    </article>
  );
}
