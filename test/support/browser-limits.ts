import type { Browser, Page } from 'playwright-core';
import { WAIT_LIMIT_MS } from './limits.ts';
import { within } from './until.ts';

// Playwright bounds only calls that wait for an element or a navigation. The others wait for the browser, and for ever if it hangs: behind a dialog that it
// does not show, for example.

const UNBOUNDED = {
  browser: ['newContext', 'close'],
  context: ['newPage', 'close', 'cookies', 'clearCookies', 'grantPermissions', 'storageState', 'addInitScript'],
  page: ['evaluate', 'close', 'route', 'unroute', 'unrouteAll', 'title', 'content', 'setViewportSize'],
  locator: ['evaluate', 'evaluateAll', 'count', 'all', 'allTextContents', 'allInnerTexts'],
  keyboard: ['press', 'type', 'insertText', 'down', 'up'],
  mouse: ['move', 'click', 'down', 'up', 'wheel'],
} as const;
const MAX_SHOWN_CHARACTERS = 200;

type Methods = Record<string, (...args: unknown[]) => Promise<unknown>>;

/** Bounds the calls of all objects of Playwright, by their classes. @param page any page of the browser */
export function boundCalls(browser: Browser, page: Page, limitMs: number = WAIT_LIMIT_MS): void {
  const { keyboard, mouse } = page;
  const objects = { browser, context: page.context(), page, locator: page.locator('html'), keyboard, mouse };
  for (const [name, methods] of Object.entries(UNBOUNDED)) {
    const shared = Object.getPrototypeOf(objects[name as keyof typeof objects]) as Methods;
    for (const method of methods) shared[method] = bounded(`${name}.${method}`, shared[method], limitMs);
  }
}

const BOUNDED = Symbol('bounded');
type Limited = Methods[string] & { [BOUNDED]?: true };

function bounded(name: string, call: Limited | undefined, limitMs: number): Limited {
  if (call === undefined) throw new Error(`Playwright has no \`${name}\` any more: see UNBOUNDED`);
  // Each browser of a file has the same classes.
  if (call[BOUNDED] === true) return call;
  const limited = function (this: unknown, ...args: unknown[]): Promise<unknown> {
    // Only expressions and selectors are shown: other arguments may be what a user types.
    const shown = name.includes('evaluate') ? String(args[0]).slice(0, MAX_SHOWN_CHARACTERS) : '';
    return within(`${name}(${shown}) in the browser`, call.apply(this, args), limitMs);
  };
  return Object.assign(limited, { [BOUNDED]: true as const });
}
