import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { visible } from '../../lib/visible.ts';
import type { Column } from './columns.ts';

const NUMERIC = /^(?:INT|LONG|FLOAT|DOUBLE|BIG_DECIMAL)$/;

/** The name and type of a column. Its right edge changes the width by the pointer; a double click there makes it automatic again. */
export function ColumnHead(props: { column: Column }): JSX.Element {
  const { name, type, width, resize } = props.column;
  const drag = useRef<{ readonly x: number; readonly width: number } | undefined>(undefined);
  return (
    <span role="columnheader" class={NUMERIC.test(type) ? 'head-number' : undefined} title={`${visible(name)} ${type}`}>
      {visible(name)} <span class="type">{type}</span>
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
        onDblClick={() => resize(undefined)}
      />
    </span>
  );
}
