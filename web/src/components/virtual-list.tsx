import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

/**
 * Renders only the visible rows of a long list. Every row is `rowHeight` pixels high.
 */
export function VirtualList(props: {
  count: number;
  rowHeight: number;
  /** Maximum height in pixels. */
  maxHeight: number;
  label: string;
  header?: ComponentChildren;
  render: (index: number) => ComponentChildren;
  /** Set for a table instead of a list: its total rows and columns, including the header. */
  table?: { rows: number; columns: number };
  /** Total width in pixels, when the list also scrolls horizontally. */
  width?: number;
}): JSX.Element {
  const ref = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(props.maxHeight);
  useEffect(() => {
    const element = ref.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const overscan = 8;
  const first = Math.max(0, Math.floor(top / props.rowHeight) - overscan);
  const last = Math.min(props.count, Math.ceil((top + height) / props.rowHeight) + overscan);
  const rows: ComponentChildren[] = [];
  for (let index = first; index < last; index++) rows.push(props.render(index));
  return (
    <div
      ref={ref}
      class="virtual"
      tabIndex={0}
      role={props.table ? 'table' : 'region'}
      aria-rowcount={props.table?.rows}
      aria-colcount={props.table?.columns}
      aria-label={props.label}
      style={{ maxHeight: `${props.maxHeight}px` }}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
    >
      {props.header}
      <div
        class="virtual-body"
        role={props.table ? 'rowgroup' : 'list'}
        style={{ height: `${props.count * props.rowHeight}px`, minWidth: props.width ? `${props.width}px` : undefined }}
      >
        <div class="virtual-window" style={{ transform: `translateY(${first * props.rowHeight}px)` }}>
          {rows}
        </div>
      </div>
    </div>
  );
}
