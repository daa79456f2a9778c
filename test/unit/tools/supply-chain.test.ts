import { describe, expect, it } from 'vitest';
import { auditOf } from '../../../tools/dev/supply-chain.ts';

describe('the report about known vulnerabilities', () => {
  it('says that nothing was checked where the registry has no advisories', () => {
    const message = '405 Method Not Allowed - POST https://registry.example.com/-/npm/v1/security/advisories/bulk';
    for (const output of [JSON.stringify({ message, statusCode: 405 }), '', 'npm error']) {
      const { outcome, lines } = auditOf(output);
      expect(outcome).toBe('unchecked');
      expect(lines[0]).toContain('could not be checked');
      expect(lines[1]).toContain('npm audit --omit=dev --registry=');
    }
    expect(auditOf(JSON.stringify({ message })).lines[0]).toContain('405 Method Not Allowed');
  });

  it('lists the packages with vulnerabilities', () => {
    const report = { metadata: { vulnerabilities: { total: 1 } }, vulnerabilities: { tar: { severity: 'high' } } };
    expect(auditOf(JSON.stringify(report))).toEqual({
      outcome: 'vulnerable',
      lines: ['npm audit: 1 known vulnerabilities in shipped packages', '  tar: high'],
    });
    expect(auditOf(JSON.stringify({ metadata: { vulnerabilities: { total: 0 } } })).outcome).toBe('clean');
  });
});
