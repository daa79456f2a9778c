import { beforeAll, describe, expect, it } from 'vitest';
import { KubeConfig } from '@kubernetes/client-node';
import { KubernetesApiError } from '../../../src/kubernetes/api-error.ts';
import { KubernetesTransport } from '../../../src/kubernetes/transport.ts';
import { API_VERSION } from '../../../src/resources/meta.ts';
import { validateResource } from '../../../src/resources/validate.ts';
import { sharedControlPlane } from '../../support/control-plane.ts';

/** Code points that regular expressions, terminals and readers treat in different ways. */
const ODD: readonly (readonly [first: number, last?: number])[] = [
  [0x00, 0x20],
  [0x7f, 0xa0], // DEL, C1 controls with NEL, no-break space
  [0xad], // soft hyphen
  [0x34f], // combining grapheme joiner
  [0x61c], // Arabic letter mark
  [0x115f, 0x1160], // Hangul fillers
  [0x1680], // Ogham space mark
  [0x180e], // Mongolian vowel separator: once a space
  [0x2000, 0x200f], // spaces, zero-width characters, marks of direction
  [0x2028, 0x202f], // line and paragraph separators, embeddings
  [0x205f, 0x2064],
  [0x2066, 0x2069],
  [0x3000], // ideographic space
  [0x3164],
  [0xfe0f], // variation selector
  [0xfeff], // byte order mark
  [0xfff9, 0xfffd],
  [0xfffe, 0xffff], // noncharacters
  [0x1d173],
  [0xe0001],
  [0xe0020],
  [0x10ffff],
];
const CHARACTERS = ODD.flatMap(([first, last = first]) =>
  Array.from({ length: last - first + 1 }, (_, index) => String.fromCodePoint(first + index)),
);

/** Each odd character alone, at the beginning, within and at the end; lengths at the limit, and names that differ by case. */
const TEXTS = [
  ...CHARACTERS.flatMap((odd) => [odd, `${odd}a`, `a${odd}b`, `a${odd}`]),
  ...['a', 'é', '😀'].flatMap((letter) => [511, 512, 513].map((length) => letter.repeat(length))),
  `${'a'.repeat(511)} `,
  ' '.repeat(512),
  ...['Ada@Example.com', 'ada@example.com', 'ADA@EXAMPLE.COM', '\u212aim', 'Kim', 'ſam', 'İ', 'ı'],
];

let transport: KubernetesTransport;
let namespace: string;

beforeAll(async () => {
  const api = await sharedControlPlane();
  await api.applyCrds();
  namespace = await api.createNamespace('odd');
  const load = () => {
    const config = new KubeConfig();
    config.loadFromFile(api.kubeconfigPath);
    return config;
  };
  transport = new KubernetesTransport(load, { namespace });
  return () => transport.close();
});

/** Whether the kube-apiserver creates the object; if so, what it stores. */
async function created(plural: string, object: object): Promise<{ spec: object } | undefined> {
  try {
    const path = `/apis/${API_VERSION}/namespaces/${namespace}/${plural}`;
    return (await transport.request<{ spec: object }>('POST', path, { query: { dryRun: 'All' }, body: object })).body;
  } catch (error) {
    if (error instanceof KubernetesApiError && error.status === 422) return undefined;
    throw error;
  }
}

/** The texts on which the two differ, as JSON. */
async function differences(
  kind: 'RoleAssignment' | 'Policy',
  plural: string,
  specOf: (text: string) => object,
): Promise<string[]> {
  const found: string[] = [];
  for (let start = 0; start < TEXTS.length; start += 25) {
    const compare = async (text: string): Promise<void> => {
      const object = { apiVersion: API_VERSION, kind, metadata: { name: 'odd' }, spec: specOf(text) };
      const stored = await created(plural, object);
      const ours = validateResource(kind, object).ok;
      if (ours !== (stored !== undefined)) found.push(`${ours ? 'only here' : 'only there'}: ${JSON.stringify(text)}`);
      else if (stored !== undefined) expect(stored.spec).toEqual(object.spec);
    };
    await Promise.all(TEXTS.slice(start, start + 25).map(compare));
  }
  return found;
}

describe('the kube-apiserver and validateResource() agree on odd texts', () => {
  it('has enough of them', () => {
    expect(new Set(TEXTS).size).toBe(TEXTS.length);
    expect(TEXTS.length).toBeGreaterThan(500);
  });

  it('as the name of a subject', async () => {
    const specOf = (name: string): object => ({ role: 'r', subjects: [{ type: 'user-email', name }] });
    expect(await differences('RoleAssignment', 'roleassignments', specOf)).toEqual([]);
  });

  it('in the resource of a statement', async () => {
    const specOf = (text: string): object => ({
      statements: [{ effect: 'allow', actions: ['Query'], resources: [`srn2:table#${text}`] }],
    });
    expect(await differences('Policy', 'policies', specOf)).toEqual([]);
  });

  it('in pairs of subjects: names that differ by case are two', async () => {
    const pair = (...names: string[]): object => ({
      apiVersion: API_VERSION,
      kind: 'RoleAssignment',
      metadata: { name: 'odd' },
      spec: { role: 'r', subjects: names.map((name) => ({ type: 'user-email', name })) },
    });
    for (const [names, valid] of [
      [['ada@example.com', 'ADA@example.com'], true],
      [['ada@example.com', 'ada@example.com'], false],
      [['Kim', '\u212aim'], true],
      [['é', 'e\u0301'], true],
    ] as const) {
      const object = pair(...names);
      expect(validateResource('RoleAssignment', object).ok, names.join()).toBe(valid);
      expect((await created('roleassignments', object)) !== undefined, names.join()).toBe(valid);
    }
  });
});
