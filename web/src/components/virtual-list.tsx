import type { ComponentChildren, JSX, RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

/** Height for the first rendering, before the real one is known, pixels. */
const FIRST_HEIGHT = 480;

/** Rows above and below the visible ones that are rendered, too. */
const OVERSCAN = 8;

interface VisibleRows {
  readonly box: RefObject<HTMLDivElement | null>;
  readonly first: number;
  /** Exclusive. */
  readonly last: number;
  readonly onScroll: (event: { readonly currentTarget: HTMLElement }) => void;
}

/** The rows that a scrolled box shows. */
function useVisibleRows(count: number, rowHeight: number): VisibleRows {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(FIRST_HEIGHT);
  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return {
    box,
    first: Math.max(0, Math.floor(top / rowHeight) - OVERSCAN),
    last: Math.min(count, Math.ceil((top + height) / rowHeight) + OVERSCAN),
    onScroll: (event) => setTop(event.currentTarget.scrollTop),
  };
}

interface VirtualListProps {
  count: number;
  rowHeight: number;
  /** Maximum height: pixels, or a length of CSS. */
  maxHeight: number | string;
  label: string;
  header?: ComponentChildren;
  render: (index: number) => ComponentChildren;
  /** Set for a grid instead of a list. */
  grid?: {
    /** Total rows and columns, including the header. */
    rows: number;
    columns: number;
    /** Id of the active cell, for screen readers. */
    active: string | undefined;
    onKeyDown: (event: KeyboardEvent & { readonly currentTarget: HTMLElement }) => void;
  };
  /** Total width in pixels, when the list also scrolls horizontally. */
  width?: number;
}

/**
 * Renders only the visible rows of a long list. Every row is `rowHeight` pixels high.
 */
export function VirtualList(props: VirtualListProps): JSX.Element {
  const { box, first, last, onScroll } = useVisibleRows(props.count, props.rowHeight);
  const rows: ComponentChildren[] = [];
  for (let index = first; index < last; index++) rows.push(props.render(index));
  return (
    <div
      ref={box}
      class="virtual"
      tabIndex={0}
      role={props.grid ? 'grid' : 'region'}
      aria-rowcount={props.grid?.rows}
      aria-colcount={props.grid?.columns}
      aria-activedescendant={props.grid?.active}
      aria-label={props.label}
      style={{ maxHeight: typeof props.maxHeight === 'number' ? `${props.maxHeight}px` : props.maxHeight }}
      onKeyDown={props.grid?.onKeyDown}
      onScroll={onScroll}
    >
      {props.header}
      <div
        class="virtual-body"
        role={props.grid ? 'rowgroup' : 'list'}
        style={{ height: `${props.count * props.rowHeight}px`, minWidth: props.width ? `${props.width}px` : undefined }}
      >
        <div class="virtual-window" style={{ transform: `translateY(${first * props.rowHeight}px)` }}>
          {rows}
        </div>
      </div>
    </div>
  );
}
