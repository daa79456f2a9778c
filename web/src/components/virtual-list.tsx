import type { ComponentChildren, JSX, RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

/** Size for the first rendering, before the real one is known, pixels. */
const FIRST_HEIGHT = 480;
const FIRST_WIDTH = 1200;

/** Rows above and below the visible ones that are rendered, too. */
const OVERSCAN = 8;

/** What is visible of the width, in pixels. */
export interface Across {
  readonly from: number;
  readonly to: number;
}

/** The list is rendered again after this many pixels to the side. */
const SIDE_STEP = 200;

interface VisibleRows {
  readonly box: RefObject<HTMLDivElement | null>;
  readonly first: number;
  /** Exclusive. */
  readonly last: number;
  readonly across: Across;
  readonly onScroll: (event: { readonly currentTarget: HTMLElement }) => void;
}

/** The rows that a scrolled box shows. */
function useVisibleRows(count: number, rowHeight: number): VisibleRows {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [left, setLeft] = useState(0);
  const [[width, height], setSize] = useState([FIRST_WIDTH, FIRST_HEIGHT]);
  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(() => setSize([element.clientWidth, element.clientHeight]));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return {
    box,
    first: Math.max(0, Math.floor(top / rowHeight) - OVERSCAN),
    last: Math.min(count, Math.ceil((top + height) / rowHeight) + OVERSCAN),
    across: { from: left - SIDE_STEP, to: left + width + 2 * SIDE_STEP },
    onScroll: ({ currentTarget: { scrollTop, scrollLeft } }) => {
      setTop(scrollTop);
      setLeft(Math.floor(scrollLeft / SIDE_STEP) * SIDE_STEP);
    },
  };
}

interface VirtualListProps {
  count: number;
  rowHeight: number;
  /** Maximum height: pixels, or a length of CSS. */
  maxHeight: number | string;
  label: string;
  header?: (across: Across) => ComponentChildren;
  render: (index: number, across: Across) => ComponentChildren;
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
  const { box, first, last, across, onScroll } = useVisibleRows(props.count, props.rowHeight);
  const rows: ComponentChildren[] = [];
  for (let index = first; index < last; index++) rows.push(props.render(index, across));
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
      {props.header?.(across)}
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
