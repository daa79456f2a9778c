import type { JSX } from 'preact';
import { RefusalHelp } from '../../components/refusal.tsx';
import { visibleText } from '../../lib/visible.ts';

/** The first line of a Java stack trace. */
const FRAME = /^[ \t]*at [\w$.<>/]+\(/m;

/** Splits a message of Pinot at its Java stack trace. `trace` is empty without one. */
function splitTrace(message: string): { readonly said: string; readonly trace: string } {
  const at = message.search(FRAME);
  if (at < 0) return { said: message.trim(), trace: '' };
  return { said: message.slice(0, at).trim(), trace: message.slice(at).trim() };
}

/** An error of Pinot. Its stack trace is collapsed, because it does not help the author of a query. */
export function EngineError(props: { message: string }): JSX.Element {
  const { said, trace } = splitTrace(props.message);
  return (
    <div class="note note-error engine-error" role="alert">
      <pre>{said === '' ? 'Pinot reports an error without a message.' : visibleText(said)}</pre>
      <RefusalHelp message={said} />
      {trace !== '' && (
        <details>
          <summary>Stack trace</summary>
          <pre>{trace}</pre>
        </details>
      )}
    </div>
  );
}
