import type { JSX } from 'preact';
import { untilPreset } from '../lib/format.ts';

const PRESETS = [
  { label: 'Friday', preset: 'friday' },
  { label: '1 week', preset: 7 },
  { label: '30 days', preset: 30 },
] as const;

/** Buttons with usual values for an UntilField. */
export function UntilPresets(props: { onPick: (value: string) => void }): JSX.Element {
  return (
    <div class="row">
      {PRESETS.map(({ label, preset }) => (
        <button type="button" class="chip small" key={label} onClick={() => props.onPick(untilPreset(preset))}>
          {label}
        </button>
      ))}
    </div>
  );
}
