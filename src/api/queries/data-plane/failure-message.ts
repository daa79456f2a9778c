import type { EngineException } from '../../../results/runs/status.ts';

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

/** Exceptions and characters of messages that the state of a query keeps. */
const MAX_EXCEPTIONS = 16;
const MAX_EXCEPTION_LENGTH = 1_024;

/** Codes and messages of the engine's exceptions, for programs. */
export function shownExceptions(exceptions: readonly unknown[]): readonly EngineException[] {
  return exceptions.slice(0, MAX_EXCEPTIONS).map((exception) => {
    const { errorCode } = (exception ?? {}) as { readonly errorCode?: unknown };
    const message = exceptionMessages([exception]).slice(0, MAX_EXCEPTION_LENGTH);
    return Number.isSafeInteger(errorCode) ? { errorCode: errorCode as number, message } : { message };
  });
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
