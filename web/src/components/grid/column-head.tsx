import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { visible } from '../../lib/visible.ts';
import type { Column } from './columns.ts';

const NUMERIC = /^(?:INT|LONG|FLOAT|DOUBLE|BIG_DECIMAL)$/;

/** The right edge of a header: it changes the width by the pointer, and a double click makes it automatic again. */
function Resizer(props: { column: Column }): JSX.Element {
  const { width, resize } = props.column;
  const drag = useRef<{ readonly x: number; readonly width: number } | undefined>(undefined);
  return (
    <span
      class="resizer"
      aria-hidden="true"
      onPointerDown={(event) => {
        event.preventDefault();
        event.currentTarget.setPointerCapture(event.pointerId);
        drag.current = { x: event.clientX, width };
      }}
      onPointerMove={(event) => {
        if (drag.current) resize(drag.current.width + event.clientX - drag.current.x);
      }}
      onPointerUp={() => {
        drag.current = undefined;
      }}
      onClick={(event) => event.stopPropagation()}
      onDblClick={() => resize(undefined)}
    />
  );
}

/** The name and type of a column. A click sorts the rows of the page. */
export function ColumnHead(props: {
  column: Column;
  /** From 0. */
  at: number;
  sorted: 'ascending' | 'descending' | undefined;
  onSort: () => void;
}): JSX.Element {
  const { at, column, sorted } = props;
  const { name, type } = column;
  return (
    <span
      role="columnheader"
      aria-colindex={at + 2}
      aria-sort={sorted}
      class={NUMERIC.test(type) ? 'head-number' : undefined}
      style={{ gridColumn: at + 2 }}
      title={`${visible(name)} ${type}: sort the rows of this page`}
      onClick={props.onSort}
    >
      {sorted && (sorted === 'ascending' ? '▲ ' : '▼ ')}
      {visible(name)} <span class="type">{type}</span>
      <Resizer column={column} />
    </span>
  );
}
