import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { BusyButton } from '../../components/basics.tsx';
import { whole } from '../../lib/format.ts';
import type { CursorResponse } from '../../lib/types.ts';

/** Moves through the pages of a result. */
export function Pager(props: {
  page: CursorResponse;
  size: number;
  onGo: (offset: number) => Promise<void>;
}): JSX.Element {
  const { page, size, onGo } = props;
  const total = page.numRowsResultSet;
  const lastOffset = Math.max(0, Math.floor((total - 1) / size) * size);
  const [jump, setJump] = useState('');
  return (
    <div class="pager" role="navigation" aria-label="Pages of the result">
      <BusyButton onPress={() => onGo(0)} disabled={page.offset === 0}>
        First
      </BusyButton>
      <BusyButton onPress={() => onGo(Math.max(0, page.offset - size))} disabled={page.offset === 0}>
        Previous
      </BusyButton>
      <span role="status">
        rows {whole(total === 0 ? 0 : page.offset + 1)}–{whole(page.offset + page.numRows)} of {whole(total)}
      </span>
      <BusyButton onPress={() => onGo(page.offset + size)} disabled={page.offset + page.numRows >= total}>
        Next
      </BusyButton>
      <BusyButton onPress={() => onGo(lastOffset)} disabled={page.offset + page.numRows >= total}>
        Last
      </BusyButton>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const row = Number.parseInt(jump, 10);
          if (Number.isSafeInteger(row) && row >= 1 && row <= total) void onGo(row - 1);
        }}
      >
        <label class="inline">
          <span>Go to row</span>
          <input
            type="number"
            min={1}
            max={total}
            value={jump}
            onInput={(event) => setJump(event.currentTarget.value)}
          />
        </label>
      </form>
    </div>
  );
}
