/** What a message says of a response of the engine that has no form to show. */
const NOT_SHOWN = 'a response that is not shown, because it may have rows';

/**
 * What the state of a failed query says about a response of the engine: the messages of its exceptions, otherwise its text, but never its rows. The state is
 * kept longer than the check of rights, and is shown to callers who may not query the tables.
 * @param text the complete response
 */
export function shownResponse(text: string): string {
  // Some versions respond to a failure of their own with 500 and nothing else.
  if (text.trim() === '') return 'an empty body';
  let response: unknown;
  try {
    response = JSON.parse(text);
  } catch {
    // JSON that is cut or damaged. Errors of servers in between are texts or HTML.
    return /^\s*[[{"]/.test(text) || text.includes('resultTable') ? NOT_SHOWN : text;
  }
  if (typeof response !== 'object' || response === null || Array.isArray(response)) return NOT_SHOWN;
  const { resultTable, ...others } = response as Readonly<Record<string, unknown>>;
  const { exceptions } = others;
  if (Array.isArray(exceptions) && exceptions.length > 0) return exceptionMessages(exceptions);
  return resultTable === undefined ? text : JSON.stringify(others);
}

/** @param exceptions at least one */
export function exceptionMessages(exceptions: readonly unknown[]): string {
  return exceptions
    .map((exception) => {
      const { message } = (exception ?? {}) as { readonly message?: unknown };
      return typeof message === 'string' ? message : JSON.stringify(exception);
    })
    .join('; ');
}
