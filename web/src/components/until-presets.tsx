import type { JSX } from 'preact';
import { untilPreset, type UntilPreset } from '../lib/format.ts';
import { usePreferences } from '../lib/preferences.ts';

const DAY_PRESETS: readonly UntilPreset[] = ['friday', { days: 7 }, { days: 30 }];
/** For what is accepted while somebody works on it. */
export const HOUR_PRESETS: readonly UntilPreset[] = [{ hours: 1 }, { hours: 2 }, { hours: 8 }, ...DAY_PRESETS];

function labelOf(preset: UntilPreset): string {
  if (preset === 'friday') return 'Friday';
  if ('hours' in preset) return preset.hours === 1 ? '1 hour' : `${preset.hours} hours`;
  return preset.days === 7 ? '1 week' : `${preset.days} days`;
}

/** Buttons with usual values for an UntilField. */
export function UntilPresets(props: {
  presets?: readonly UntilPreset[];
  onPick: (value: string) => void;
}): JSX.Element {
  const { utc } = usePreferences();
  return (
    <div class="row">
      {(props.presets ?? DAY_PRESETS).map((preset) => (
        <button
          type="button"
          class="chip small"
          key={labelOf(preset)}
          onClick={() => props.onPick(untilPreset(preset, utc))}
        >
          {labelOf(preset)}
        </button>
      ))}
    </div>
  );
}
