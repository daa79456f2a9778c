import { ACCESS_TEST } from '../../access/tests/access-test.ts';
import type { Cause } from '../../access/plan/plan.ts';
import { PolicySet, type AccessObjects } from '../../access/plan/policy-set.ts';
import type { Deployment } from '../../access/policy/srn.ts';
import type { WallClock } from '../../platform/clock.ts';
import { readManifests, type ManifestSet, type ManifestText } from '../../store/manifests/manifest-set.ts';
import type { YamlReader } from '../../store/manifests/yaml-documents.ts';
import { readCluster, readGateway, type GatewayAddress } from './access-readings.ts';
import { manifestsAt, manifestsIn } from './manifest-files.ts';

/** Where a set of access is read from. */
export type AccessSource =
  | { readonly from: 'files'; readonly paths: readonly string[] }
  | { readonly from: 'git'; readonly revision: string; readonly paths: readonly string[] }
  | { readonly from: 'gateway'; readonly address: GatewayAddress }
  | { readonly from: 'cluster'; readonly kubeconfig: string };

export interface ReadingOptions {
  readonly reader: YamlReader;
  readonly namespace: string | undefined;
  readonly deployment: Deployment;
  readonly clock: WallClock;
  readonly signal: AbortSignal;
}

/** A set of access that was read. */
export interface AccessSide {
  readonly set: PolicySet;
  /** The manifests; undefined for a gateway and a cluster. */
  readonly manifests: ManifestSet | undefined;
  /** What was left out, for the user: one line each. */
  readonly notes: readonly string[];
}

/** @throws {Error} what cannot be read, and where */
export async function readSide(source: AccessSource, options: ReadingOptions): Promise<AccessSide> {
  const { deployment, clock, signal, namespace } = options;
  const remote = (objects: AccessObjects, notes: readonly string[]): AccessSide => {
    return { set: new PolicySet(objects, deployment, clock), manifests: undefined, notes };
  };
  switch (source.from) {
    case 'files':
      return ofManifests(await manifestsIn(source.paths), source.paths.join(', '), options);
    case 'git': {
      const { revision, paths } = source;
      return ofManifests(await manifestsAt(revision, paths, signal), `${revision}:${paths.join(', ')}`, options);
    }
    case 'gateway':
      return remote(await readGateway(source.address, signal), [
        'the gateway shows what its caller may read: roles, policies and assignments beyond that count as missing',
      ]);
    case 'cluster':
      return remote(await readCluster(source.kubeconfig, namespace, signal), []);
  }
}

function ofManifests(files: readonly ManifestText[], where: string, options: ReadingOptions): AccessSide {
  const { reader, namespace, deployment, clock } = options;
  const manifests = readManifests(files, reader, { namespace, otherKinds: [ACCESS_TEST] });
  const objects: AccessObjects = {
    policies: manifests.list('Policy'),
    roles: manifests.list('Role'),
    assignments: manifests.list('RoleAssignment'),
    tokens: manifests.list('ServiceToken'),
  };
  const ignored = [...manifests.ignored].map(([kind, count]) => `${count} ${kind}`);
  const isEmpty = Object.values(objects).every(({ length }) => length === 0);
  const notes = [
    ...(isEmpty ? [`\`${where}\` has no roles, policies, assignments and service tokens`] : []),
    ...(ignored.length > 0
      ? [`\`${where}\`: left out, because they do not determine access: ${ignored.join(', ')}`]
      : []),
  ];
  return { set: new PolicySet(objects, deployment, clock), manifests, notes };
}

/** `<file>:<line>` of a place in an object; undefined where it is not in a file. */
export function placeIn(
  { manifests }: AccessSide,
  { kind, name, path }: Pick<Cause, 'kind' | 'name' | 'path'>,
): string | undefined {
  const place = manifests?.placeOf(kind, name, path);
  return place && `${place.path}:${place.line}`;
}
