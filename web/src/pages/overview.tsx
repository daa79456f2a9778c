import type { ComponentChildren, JSX } from 'preact';
import { Badge, ErrorNote, Loaded, When } from '../components/basics.tsx';
import { Table } from '../components/table.tsx';
import { call } from '../lib/api.ts';
import { duration } from '../lib/format.ts';
import { useData } from '../lib/use-data.ts';

interface Overview {
  readonly version: string;
  readonly brokerId: string;
  readonly startedAt: string;
  readonly store: {
    readonly kind: string;
    readonly synced: boolean;
    readonly ageMs: number;
    readonly lastError?: string | null;
  };
  readonly engine: { readonly url: string; readonly reachable: boolean; readonly message?: string | null };
  readonly instances: readonly {
    readonly brokerId: string;
    readonly host: string;
    readonly port: number;
    readonly self: boolean;
  }[];
  readonly pagination: { readonly protocol: string };
}

/** What is so, in a word that the eye finds first, and the particulars below. */
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
      <dl class="facts">
        {props.facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

export function OverviewPage(): JSX.Element {
  const data = useData('overview', (signal) => call<Overview>('/api/v1/gateway', { signal }), 10_000);
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
                      <code>{instance.brokerId}</code> {instance.self && <Badge tone="plain">this one</Badge>}
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
          </>
        )}
      </Loaded>
    </>
  );
}

function Tiles(props: { overview: Overview }): JSX.Element {
  const { store, engine, version, brokerId, startedAt, pagination } = props.overview;
  return (
    <div class="tiles">
      <Tile
        title="Engine"
        badge={<Badge tone={engine.reachable ? 'good' : 'bad'}>{engine.reachable ? 'reachable' : 'unreachable'}</Badge>}
        facts={[
          ['Controller', <code key="url">{engine.url}</code>],
          ...(engine.message ? [['Answer', engine.message] as [string, string]] : []),
        ]}
      />
      <Tile
        title="Resources"
        badge={<Badge tone={store.synced ? 'good' : 'warn'}>{store.synced ? 'in step' : 'not yet read'}</Badge>}
        facts={[
          ['Kept in', store.kind === 'kubernetes' ? 'the Kubernetes API' : `a ${store.kind}`],
          ['Known to be current', `${duration(store.ageMs)} ago`],
          ...(store.lastError ? [['Last error', store.lastError] as [string, string]] : []),
        ]}
      />
      <Tile
        title="This gateway"
        facts={[
          ['Version', <code key="version">{version}</code>],
          ['Id', <code key="id">{brokerId}</code>],
          ['Started', <When key="started" time={startedAt} />],
          ['Results are kept in', pagination.protocol],
        ]}
      />
    </div>
  );
}
