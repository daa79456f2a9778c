import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { BusyButton } from '../../components/basics.tsx';
import { whole } from '../../lib/format.ts';
import type { CursorResponse } from '../../lib/types.ts';

/** @param props.total rows of the whole result */
function GoToRow(props: { total: number; onGo: (offset: number) => Promise<void> }): JSX.Element {
  const [row, setRow] = useState('');
  const go = (): void => {
    const number = Number.parseInt(row, 10);
    if (Number.isSafeInteger(number) && number >= 1 && number <= props.total) void props.onGo(number - 1);
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        go();
      }}
    >
      <label class="inline">
        <span>Go to row</span>
        <input
          type="number"
          min={1}
          max={props.total}
          value={row}
          onInput={(event) => setRow(event.currentTarget.value)}
        />
      </label>
    </form>
  );
}

/** Moves through the pages of a result. */
export function Pager(props: {
  page: CursorResponse;
  size: number;
  onGo: (offset: number) => Promise<void>;
}): JSX.Element {
  const { size, onGo } = props;
  const { offset, numRows, numRowsResultSet: total } = props.page;
  const lastOffset = Math.max(0, Math.floor((total - 1) / size) * size);
  const isFirst = offset === 0;
  const isLast = offset + numRows >= total;
  return (
    <div class="pager" role="navigation" aria-label="Pages of the result">
      <BusyButton onPress={() => onGo(0)} disabled={isFirst}>
        First
      </BusyButton>
      <BusyButton onPress={() => onGo(Math.max(0, offset - size))} disabled={isFirst}>
        Previous
      </BusyButton>
      <span role="status">
        rows {whole(total === 0 ? 0 : offset + 1)}–{whole(offset + numRows)} of {whole(total)}
      </span>
      <BusyButton onPress={() => onGo(offset + size)} disabled={isLast}>
        Next
      </BusyButton>
      <BusyButton onPress={() => onGo(lastOffset)} disabled={isLast}>
        Last
      </BusyButton>
      <GoToRow total={total} onGo={onGo} />
    </div>
  );
}
