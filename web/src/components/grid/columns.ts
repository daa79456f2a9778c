import { useMemo } from 'preact/hooks';
import { chooseWidth, chosenWidth } from '../../lib/column-widths.ts';
import { cellOf } from '../../lib/exact-json.ts';
import { usePreferences } from '../../lib/preferences.ts';

export const NUMBER_COLUMN = 72;
const MIN_COLUMN = 48;
const MIN_AUTOMATIC = 88;
const MAX_AUTOMATIC = 380;
/** Width of a character of the grid and padding of a cell, pixels. */
const CHARACTER = 7.9;
const PADDING = 24;
/** Number of rows from which the column widths are computed. */
const SAMPLE = 50;

export interface Column {
  readonly name: string;
  readonly type: string;
  /** Pixels. */
  readonly width: number;
  /** @param pixels undefined for the automatic width */
  readonly resize: (pixels: number | undefined) => void;
}

/** Width in pixels from the texts of the first rows, within limits. */
function automaticWidth(name: string, type: string, values: readonly unknown[]): number {
  const longest = Math.max(name.length + type.length + 1, ...values.map((value) => cellOf(value).text.length));
  return Math.round(Math.min(MAX_AUTOMATIC, Math.max(MIN_AUTOMATIC, longest * CHARACTER + PADDING)));
}

/** The columns of a result, each with the width that the user chose for it, or else the automatic one. */
export function useColumns(
  names: readonly string[],
  types: readonly string[],
  rows: readonly (readonly unknown[])[],
): readonly Column[] {
  // Renders again when a width changes.
  usePreferences();
  const automatic = useMemo(() => {
    const sample = rows.slice(0, SAMPLE);
    return names.map((name, at) =>
      automaticWidth(
        name,
        types[at] ?? '',
        sample.map((row) => row[at]),
      ),
    );
  }, [names, types, rows]);
  return names.map((name, at) => {
    const type = types[at] ?? '';
    return {
      name,
      type,
      width: chosenWidth(name, type) ?? automatic[at] ?? MIN_AUTOMATIC,
      resize: (pixels) =>
        chooseWidth(name, type, pixels === undefined ? undefined : Math.max(MIN_COLUMN, Math.round(pixels))),
    };
  });
}
