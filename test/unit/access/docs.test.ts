import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ACTIONS } from '../../../src/access/policy/actions.ts';
import { parsePolicyDocument, validatePolicySpec } from '../../../src/access/policy/policy-document.ts';
import { PREDEFINED_POLICIES } from '../../../src/access/policy/predefined.ts';
import { parseSrnPattern } from '../../../src/access/policy/srn.ts';

const page = readFileSync(new URL('../../../docs/rbac.md', import.meta.url), 'utf8');
const blocks = (language: string): string[] =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, 'g'))].map(([, text]) => text!);

describe('docs/rbac.md', () => {
  it('names every action', () => {
    expect(ACTIONS.filter((action) => !page.includes(`\`${action}\``))).toEqual([]);
  });

  it('names every predefined policy', () => {
    for (const { metadata } of PREDEFINED_POLICIES) expect(page).toContain(`| \`${metadata.name}\` |`);
  });

  it('has valid policy documents', () => {
    const documents = blocks('json')
      .map((text) => JSON.parse(text) as { statements?: unknown; policyDocumentJson?: string })
      .map((value) => (value.statements === undefined ? value.policyDocumentJson : value))
      // Other examples are answers of the REST API.
      .filter((document) => document !== undefined);
    expect(documents.length).toBeGreaterThanOrEqual(7);
    for (const document of documents) expect(parsePolicyDocument(document)).toMatchObject({ ok: true });
  });

  it('has valid manifests and patterns', () => {
    const [policy] = blocks('yaml').flatMap((text) =>
      text.split('---\n').map((part) => parse(part) as { kind: string; spec: unknown }),
    );
    expect(policy?.kind).toBe('Policy');
    expect(validatePolicySpec(policy?.spec)).toMatchObject({ ok: true });
    const patterns = [...page.matchAll(/^\| `(\*|srn2:[^`<]*)` \|/gm)].map(([, pattern]) => pattern!);
    expect(patterns.length).toBeGreaterThanOrEqual(7);
    for (const pattern of patterns) expect(parseSrnPattern(pattern)).toMatchObject({ ok: true });
  });
});
