import type { JSX } from 'preact';
import { Badge, DangerButton, ErrorNote, Name, Until } from '../../components/basics.tsx';
import { CopyAs } from '../../components/copy-as.tsx';
import { Table } from '../../components/table.tsx';
import { call } from '../../lib/api.ts';
import { mutesManifest } from '../../lib/copy.ts';
import { nameOf, whole } from '../../lib/format.ts';
import { useMay } from '../../lib/session.ts';
import type { HealthMute } from '../../lib/types.ts';
import { useChange } from '../../lib/use-change.ts';
import { useData, type Data } from '../../lib/use-data.ts';

const POLL_MS = 30_000;

export function useMutes(polls: boolean): Data<HealthMute[]> {
  return useData(
    'mutes',
    (signal) => call<HealthMute[]>('/clusterHealth/mutes', { signal }),
    polls ? POLL_MS : undefined,
  );
}

/** The mutes, those that end first at the top. */
export function Mutes(props: { mutes: Data<HealthMute[]>; onChanged: () => void }): JSX.Element | null {
  const mayChange = useMay('UpdateHealth');
  const { error, send } = useChange(props.onChanged);
  const list = props.mutes.value ?? [];
  if (list.length === 0) return <ErrorNote message={error ?? props.mutes.error} retry={props.mutes.reload} />;
  return (
    <details class="mutes">
      <summary>
        {whole(list.length)} {list.length === 1 ? 'mute' : 'mutes'}
      </summary>
      <ErrorNote message={error ?? props.mutes.error} />
      <Table label="Mutes" columns={['Check', 'Entity', 'Reason', 'Until', '#Findings', 'By', '(Copy or remove)']}>
        {list.map(({ id, check, entity, reason, until, findingCount, author, active }) => (
          <tr key={id}>
            <td class="wrap">{check === '*' ? 'every check' : <Name text={check} />}</td>
            <td class="wrap">
              <code>
                <Name text={entity} />
              </code>
            </td>
            <td class="wrap">{reason}</td>
            <td>
              <Until time={until} /> {!active && <Badge tone="plain">not in effect</Badge>}
            </td>
            <td class="number">{whole(findingCount)}</td>
            <td>{nameOf(author ?? '')}</td>
            <td>
              <CopyAs
                row={`the mute of ${entity}`}
                call={{ method: 'POST', path: '/clusterHealth/mutes', body: { check, entity, reason, until } }}
              />{' '}
              {mayChange && (
                <DangerButton
                  small
                  label="Remove"
                  about={`the mute of ${entity}`}
                  onConfirm={async () => {
                    await send(`/clusterHealth/mutes/${encodeURIComponent(id)}`, 'DELETE');
                  }}
                />
              )}
            </td>
          </tr>
        ))}
      </Table>
      <div class="row">
        <CopyAs call={{ method: 'GET', path: '/clusterHealth/mutes' }} manifest={() => mutesManifest(list)} />
      </div>
    </details>
  );
}
