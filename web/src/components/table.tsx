import type { ComponentChildren, JSX } from 'preact';

/** A table that scrolls horizontally when it is wider than the page. */
export function Table(props: {
  label: string;
  /** Column headers: `#` before the name of a numeric column, parentheses around a header for screen readers only. */
  columns: readonly string[];
  children: ComponentChildren;
}): JSX.Element {
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label={props.label}>
      <table>
        <thead>
          <tr>
            {props.columns.map((column) => (
              <Head key={column} column={column} />
            ))}
          </tr>
        </thead>
        <tbody>{props.children}</tbody>
      </table>
    </div>
  );
}

function Head(props: { column: string }): JSX.Element {
  const { column } = props;
  if (column.startsWith('('))
    return (
      <th scope="col">
        <span class="sr-only">{column.slice(1, -1)}</span>
      </th>
    );
  const number = column.startsWith('#');
  return (
    <th scope="col" class={number ? 'number' : undefined}>
      {number ? column.slice(1) : column}
    </th>
  );
}
