import type { JSX } from 'preact';
import { Badge, Name, Until } from '../../components/basics.tsx';
import { ErrorNote } from '../../components/loaded.tsx';
import { DangerButton } from '../../components/danger-button.tsx';
import { CopyAs } from '../../components/copy-as.tsx';
import { Table } from '../../components/table.tsx';
import { call } from '../../lib/api.ts';
import { mutesManifest } from '../../lib/copy.ts';
import { nameOf, whole } from '../../lib/format.ts';
import { offerUndo } from '../../lib/notices.ts';
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

/** @param props.onRemove absent for users who may not change mutes */
function MuteRow(props: { mute: HealthMute; onRemove: (() => Promise<void>) | undefined }): JSX.Element {
  const { check, entity, reason, until, findingCount, author, active } = props.mute;
  return (
    <tr>
      <td class="wrap">{check === '*' ? 'every check' : <Name text={check} />}</td>
      <td class="wrap">
        <code>
          <Name text={entity} />
        </code>
      </td>
      <td class="wrap">
        <Name text={reason} />
      </td>
      <td>
        <Until time={until} /> {!active && <Badge tone="plain">not in effect</Badge>}
      </td>
      <td class="number">{whole(findingCount)}</td>
      <td>
        <Name text={nameOf(author ?? '')} />
      </td>
      <td>
        <CopyAs
          row={`the mute of ${entity}`}
          call={{ method: 'POST', path: '/clusterHealth/mutes', body: { check, entity, reason, until } }}
        />{' '}
        {props.onRemove && (
          <DangerButton
            small
            label="Remove"
            about={`the mute of ${entity}`}
            consequence={`The findings of \`${entity}\` count as faults again, and alerts are sent for them.`}
            onConfirm={props.onRemove}
          />
        )}
      </td>
    </tr>
  );
}

/** The mutes, those that end first at the top. */
export function Mutes(props: { mutes: Data<HealthMute[]>; onChanged: () => void }): JSX.Element | null {
  const mayChange = useMay('UpdateHealth');
  const { error, send } = useChange(props.onChanged);
  const list = props.mutes.value ?? [];
  if (list.length === 0) return <ErrorNote message={error ?? props.mutes.error} retry={props.mutes.reload} />;
  const remove = async ({ id, check, entity, reason, until }: HealthMute): Promise<void> => {
    if (await send(`/clusterHealth/mutes/${encodeURIComponent(id)}`, 'DELETE'))
      offerUndo(`The mute of \`${entity}\` was removed.`, () =>
        send('/clusterHealth/mutes', 'POST', { check, entity, reason, until }),
      );
  };
  return (
    <details class="mutes">
      <summary>
        {whole(list.length)} {list.length === 1 ? 'mute' : 'mutes'}
      </summary>
      <ErrorNote message={error ?? props.mutes.error} />
      <Table label="Mutes" columns={['Check', 'Entity', 'Reason', 'Until', '#Findings', 'By', '(Copy or remove)']}>
        {list.map((mute) => (
          <MuteRow key={mute.id} mute={mute} onRemove={mayChange ? () => remove(mute) : undefined} />
        ))}
      </Table>
      <div class="row">
        <CopyAs call={{ method: 'GET', path: '/clusterHealth/mutes' }} manifest={() => mutesManifest(list)} />
      </div>
    </details>
  );
}
