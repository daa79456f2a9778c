import { expect, it } from 'vitest';
import { billOfMaterials, notices } from '../../../tools/package/shipped.ts';

interface Component {
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly licenses: readonly object[];
  readonly hashes: readonly { readonly alg: string; readonly content: string }[];
}
const PACKAGES = ['node_modules/@aws-sdk/client-s3', 'node_modules/stubs', 'node_modules/undici'];

it('lists each package with its version, licence and checksum, in the same way each time', () => {
  const text = billOfMaterials(PACKAGES);
  expect(billOfMaterials(PACKAGES)).toBe(text);
  const bom = JSON.parse(text) as { components: Component[] };
  expect(bom).toMatchObject({ bomFormat: 'CycloneDX', metadata: { component: { name: 'olap-warden' } } });
  expect(bom.components.map(({ name }) => name)).toEqual(['@aws-sdk/client-s3', 'stubs', 'undici']);
  const [client] = bom.components;
  expect(client?.purl).toBe(`pkg:npm/%40aws-sdk/client-s3@${client?.version}`);
  expect(client?.licenses).toEqual([{ license: { id: 'Apache-2.0' } }]);
  expect(client?.hashes).toEqual([{ alg: 'SHA-512', content: expect.stringMatching(/^[0-9a-f]{128}$/) as string }]);
});

it('refuses a package that the lock file does not name', () => {
  expect(() => billOfMaterials(['node_modules/no-such'])).toThrow('package-lock.json has no `node_modules/no-such`');
});

it('has the licence of each package, also where it is only in the page of the package', () => {
  const [, client = '', stubs = '', undici = ''] = notices(PACKAGES).split(/^-{80}$/m);
  expect(client).toMatch(/@aws-sdk\/client-s3 [\d.]+ \(Apache-2\.0\)[^]*Apache License/);
  expect(stubs).toMatch(/stubs [\d.]+ \(MIT\)/);
  expect(undici).toMatch(/undici [\d.]+ \(MIT\)[^]*Permission is hereby granted/);
});
