import { expect, it } from 'vitest';
import { visibleText } from '../../../src/platform/visible.ts';
import { visibleText as inDashboard } from '../../../web/src/lib/visible.ts';

it('shows hidden characters of names as the dashboard does', () => {
  const text = 'role `a\u200bb\u202e` and `c\u00ad\u00a0\u2066`\n\tin two lines, é ⟨';
  expect(visibleText(text)).toBe('role `a⟨U+200B⟩b⟨U+202E⟩` and `c⟨U+00AD⟩⟨U+00A0⟩⟨U+2066⟩`\n\tin two lines, é ⟨');
  expect(visibleText(text)).toBe(inDashboard(text));
});
