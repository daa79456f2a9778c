import type { JSX } from 'preact';
import { Badge, ErrorNote, Loading, When } from '../components/basics.tsx';
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

export function OverviewPage(): JSX.Element {
  const data = useData('overview', (signal) => call<Overview>('/api/v1/gateway', { signal }), 10_000);
  if (!data.value)
    return data.error === undefined ? (
      <Loading what="the gateway" />
    ) : (
      <ErrorNote message={data.error} retry={data.reload} />
    );
  const { store, engine, instances } = data.value;
  return (
    <>
      <h1>Gateway</h1>
      <ErrorNote message={data.error} retry={data.reload} />
      <div class="tiles">
        <section class="card tile" aria-label="Engine">
          <h2>Engine</h2>
          <p>
            <Badge tone={engine.reachable ? 'good' : 'bad'}>{engine.reachable ? 'reachable' : 'unreachable'}</Badge>
          </p>
          <p>
            <code>{engine.url}</code>
          </p>
          {engine.message && <p class="muted">{engine.message}</p>}
        </section>
        <section class="card tile" aria-label="Resources">
          <h2>Resources</h2>
          <p>
            <Badge tone={store.synced ? 'good' : 'warn'}>{store.synced ? 'in step' : 'not yet read'}</Badge>{' '}
            {store.kind}
          </p>
          <p class="muted">last known to be current {duration(store.ageMs)} ago</p>
          {store.lastError && <p class="muted">{store.lastError}</p>}
        </section>
        <section class="card tile" aria-label="This gateway">
          <h2>This gateway</h2>
          <p>
            version <code>{data.value.version}</code>
          </p>
          <p>
            <code>{data.value.brokerId}</code>, started <When time={data.value.startedAt} />
          </p>
          <p class="muted">results are kept in: {data.value.pagination.protocol}</p>
        </section>
      </div>
      <section class="card" aria-labelledby="instances">
        <h2 id="instances">Instances</h2>
        <div class="table-scroll" tabIndex={0} role="region" aria-label="Gateways of this deployment">
          <table>
            <thead>
              <tr>
                <th scope="col">Id</th>
                <th scope="col">Address</th>
              </tr>
            </thead>
            <tbody>
              {instances.map((instance) => (
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
            </tbody>
          </table>
        </div>
      </section>
    </>
  );
}
