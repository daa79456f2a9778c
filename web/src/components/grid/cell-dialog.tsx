import type { JSX } from 'preact';
import { cellOf } from '../../lib/exact-json.ts';
import { whole } from '../../lib/format.ts';
import { indentJson } from '../../lib/indent-json.ts';
import { visible } from '../../lib/visible.ts';
import { CopyButton, Moment } from '../basics.tsx';
import { Dialog } from '../dialog.tsx';
import { timeOf } from './readable.ts';

/** Maximum items of an array that are listed. */
const MAX_ITEMS = 5000;

function AsTime(props: { time: number | undefined }): JSX.Element | null {
  if (props.time === undefined) return null;
  return (
    <p class="muted">
      As a time: <Moment time={props.time} />
    </p>
  );
}

/** A value in full: JSON is indented, and an array has a line for each item. */
export function CellDialog(props: {
  column: string;
  type: string;
  /** Number of the row, from 1. */
  row: number;
  value: unknown;
  onClose: () => void;
}): JSX.Element {
  const { column, type, row, value } = props;
  const items = Array.isArray(value) ? (value as unknown[]) : undefined;
  const cell = cellOf(value);
  const { text } = cell;
  return (
    <Dialog wide title={`${visible(column)} of row ${whole(row)}`} onClose={props.onClose}>
      <p class="muted">
        {type}
        {items && ` · ${whole(items.length)} items`}
        {typeof value === 'string' && ` · ${whole(value.length)} characters`}
      </p>
      {items ? (
        <ol class="cell-items" start={0}>
          {items.slice(0, MAX_ITEMS).map((item, index) => (
            <li key={index}>
              <code>{cellOf(item).text}</code>
            </li>
          ))}
        </ol>
      ) : (
        <pre class="secret cell-full" tabIndex={0}>
          {indentJson(text) ?? text}
        </pre>
      )}
      <AsTime time={timeOf(cell)} />
      {items && items.length > MAX_ITEMS && <p class="muted">and {whole(items.length - MAX_ITEMS)} more items</p>}
      <CopyButton label="Copy value" text={() => (items ? items.map((item) => cellOf(item).text).join('\n') : text)} />
    </Dialog>
  );
}
