import type { ComponentChildren, JSX } from 'preact';
import { Badge, When } from '../components/basics.tsx';
import { ErrorNote, Loaded } from '../components/loaded.tsx';
import { CopyAs } from '../components/copy-as.tsx';
import { Facts } from '../components/facts.tsx';
import { Table } from '../components/table.tsx';
import { call } from '../lib/api.ts';
import { duration } from '../lib/format.ts';
import type { GatewayInfo } from '../lib/types.ts';
import { useData } from '../lib/use-data.ts';

/** A card with a status badge and details. */
function Tile(props: {
  title: string;
  badge?: JSX.Element;
  facts: readonly [string, ComponentChildren][];
}): JSX.Element {
  return (
    <section class="card tile" aria-label={props.title}>
      <h2>
        {props.title} {props.badge}
      </h2>
      <Facts facts={props.facts} />
    </section>
  );
}

export function OverviewPage(): JSX.Element {
  const data = useData('overview', (signal) => call<GatewayInfo>('/api/v1/gateway', { signal }), 10_000);
  return (
    <>
      <h1>Gateway</h1>
      <Loaded data={data} what="the gateway">
        {(overview) => (
          <>
            <ErrorNote message={data.error} retry={data.reload} />
            <Tiles overview={overview} />
            <section class="card" aria-labelledby="instances">
              <h2 id="instances">Instances</h2>
              <Table label="Gateways of this deployment" columns={['Id', 'Address']}>
                {overview.instances.map((instance) => (
                  <tr key={instance.brokerId}>
                    <td>
                      <code>{instance.brokerId}</code> {instance.self && <Badge tone="plain">this gateway</Badge>}
                    </td>
                    <td>
                      <code>
                        {instance.host}:{instance.port}
                      </code>
                    </td>
                  </tr>
                ))}
              </Table>
            </section>
            <div class="row">
              <CopyAs call={{ method: 'GET', path: '/api/v1/gateway' }} />
            </div>
          </>
        )}
      </Loaded>
    </>
  );
}

function Tiles(props: { overview: GatewayInfo }): JSX.Element {
  const { store, engine, version, brokerId, startedAt, pagination } = props.overview;
  return (
    <div class="tiles">
      <Tile
        title="Engine"
        badge={<Badge tone={engine.reachable ? 'good' : 'bad'}>{engine.reachable ? 'reachable' : 'unreachable'}</Badge>}
        facts={[
          ['Controller', <code key="url">{engine.url}</code>],
          ...(engine.message ? [['Response', engine.message] as [string, string]] : []),
        ]}
      />
      <Tile
        title="Resources"
        badge={<Badge tone={store.synced ? 'good' : 'warn'}>{store.synced ? 'synced' : 'not synced'}</Badge>}
        facts={[
          ['Stored in', store.kind === 'kubernetes' ? 'the Kubernetes API' : `a ${store.kind}`],
          ['Last update', `${duration(store.ageMs)} ago`],
          ...(store.lastError ? [['Last error', store.lastError] as [string, string]] : []),
        ]}
      />
      <Tile
        title="This gateway"
        facts={[
          ['Version', <code key="version">{version}</code>],
          ['Id', <code key="id">{brokerId}</code>],
          ['Started', <When key="started" time={startedAt} />],
          ['Result store', pagination.protocol],
        ]}
      />
    </div>
  );
}
