import type { JSX } from 'preact';
import { TextField, UntilField } from '../../components/fields.tsx';
import { HOUR_PRESETS, UntilPresets } from '../../components/until-presets.tsx';
import { call } from '../../lib/api.ts';
import type { HealthMute } from '../../lib/types.ts';
import { useDraftOr } from '../../lib/use-draft.ts';
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

interface MuteInput extends MuteProposal {
  readonly reason: string;
  /** Value of an UntilField. */
  readonly until: string;
}

function MuteFields(props: { input: MuteInput; onChange: (input: MuteInput) => void }): JSX.Element {
  const { input } = props;
  const set = (change: Partial<MuteInput>): void => props.onChange({ ...input, ...change });
  return (
    <>
      <TextField
        label="Reason"
        hint="Why this is accepted until then"
        required
        value={input.reason}
        onChange={(reason) => set({ reason })}
      />
      <div class="until">
        <UntilField hint="At most 90 days ahead" value={input.until} onChange={(until) => set({ until })} />
        <UntilPresets presets={HOUR_PRESETS} onPick={(until) => set({ until })} />
      </div>
      <TextField
        label="Entity"
        hint="* matches any characters, such as events_*"
        required
        value={input.entity}
        onChange={(entity) => set({ entity })}
      />
      <TextField
        label="Check"
        hint="* matches any characters; empty for every check"
        value={input.check}
        onChange={(check) => set({ check })}
      />
    </>
  );
}

/** The dialog that mutes findings, with a reason and an end. */
export function NewMute(props: NewMuteProps): JSX.Element {
  const { proposal } = props;
  // The proposal is the key: the dialog of another finding begins anew.
  const begun: MuteInput = { ...proposal, reason: '', until: '' };
  const [input, setInput, discard] = useDraftOr(`mute/${proposal.check}/${proposal.entity}`, begun);
  const { check, entity, reason, until } = input;
  const done = (mute: HealthMute | undefined): void => {
    discard();
    props.onDone(mute);
  };
  const { error, attempt } = useChange();
  const mute = async (): Promise<void> => {
    const body = { check: check === '' ? '*' : check, entity, reason, until };
    done(await call<HealthMute>('/clusterHealth/mutes', { method: 'POST', body }));
  };
  return (
    <NewDialog
      title="Mute findings"
      action="Mute"
      onClose={() => done(undefined)}
      complete={entity !== '' && reason !== '' && until !== ''}
      onCreate={() => attempt(mute)}
      error={error}
    >
      <MuteFields input={input} onChange={setInput} />
    </NewDialog>
  );
}
