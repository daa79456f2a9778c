import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { TextField, UntilField } from '../../components/fields.tsx';
import { HOUR_PRESETS, UntilPresets } from '../../components/until-presets.tsx';
import { call } from '../../lib/api.ts';
import type { HealthMute } from '../../lib/types.ts';
import { useChange } from '../../lib/use-change.ts';
import { NewDialog } from '../../components/new-dialog.tsx';

/** What is proposed to be muted. */
export interface MuteProposal {
  readonly check: string;
  readonly entity: string;
}

interface NewMuteProps {
  proposal: MuteProposal;
  onDone: (mute: HealthMute | undefined) => void;
}

/** The dialog that mutes findings, with a reason and an end. */
export function NewMute(props: NewMuteProps): JSX.Element {
  const [check, setCheck] = useState(props.proposal.check);
  const [entity, setEntity] = useState(props.proposal.entity);
  const [reason, setReason] = useState('');
  const [until, setUntil] = useState('');
  const { error, attempt } = useChange();
  const mute = async (): Promise<void> => {
    const body = { check: check === '' ? '*' : check, entity, reason, until: new Date(until).toISOString() };
    props.onDone(await call<HealthMute>('/clusterHealth/mutes', { method: 'POST', body }));
  };
  return (
    <NewDialog
      title="Mute findings"
      action="Mute"
      onClose={() => props.onDone(undefined)}
      complete={entity !== '' && reason !== '' && until !== ''}
      onCreate={() => attempt(mute)}
      error={error}
    >
      <TextField label="Reason" hint="Why this is accepted until then" required value={reason} onChange={setReason} />
      <div class="until">
        <UntilField hint="At most 90 days ahead" value={until} onChange={setUntil} />
        <UntilPresets presets={HOUR_PRESETS} onPick={setUntil} />
      </div>
      <TextField
        label="Entity"
        hint="* matches any characters, such as events_*"
        required
        value={entity}
        onChange={setEntity}
      />
      <TextField
        label="Check"
        hint="* matches any characters; empty for every check"
        value={check}
        onChange={setCheck}
      />
    </NewDialog>
  );
}
