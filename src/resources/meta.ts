import { Type, type Static } from 'typebox';
import { StringEnum } from './schema.ts';

export const GROUP = 'olapwarden.io';
/** The version in which olap-warden reads and writes resources, and in which the API server stores them. */
export const VERSION = 'v1beta1';
export const API_VERSION = `${GROUP}/${VERSION}`;
/** All versions that are served; all but `VERSION` are deprecated. They have the same fields, so objects are converted by the name of the version alone. */
export const SERVED_VERSIONS = [VERSION, 'v1alpha1'] as const;
export type ServedVersion = (typeof SERVED_VERSIONS)[number];
/** Values of `apiVersion` that resources may have; the first one is `API_VERSION`. */
export const API_VERSIONS: readonly string[] = SERVED_VERSIONS.map((version) => `${GROUP}/${version}`);

/** Annotations and labels that olap-warden reads or writes. */
export const ANNOTATIONS = {
  /** Author: an SRN for REST callers, the Kubernetes user name for kubectl (set by a MutatingAdmissionPolicy). */
  createdBy: `${GROUP}/created-by`,
  lastUpdatedBy: `${GROUP}/last-updated-by`,
  /** RFC 3339 time of the last change of spec or description by any interface; `lastUpdatedAt` in the REST API. */
  lastUpdatedAt: `${GROUP}/last-updated-at`,
  /** On a role or policy that a gateway is about to delete: the time, RFC 3339. It has no effect on access. */
  deleting: `${GROUP}/deleting`,
  /** On an assignment of `system-admin`: changes when another one is removed because this one remains. It has no effect on access. */
  reliedOn: `${GROUP}/relied-on`,
  /** On a role: changes when its assignments are changed under a condition (`If-Match`). It has no effect on access. */
  assignmentsVersion: `${GROUP}/assignments-version`,
  /** A new value starts a health run. */
  runAt: `${GROUP}/run-at`,
  /** A new value makes the operator rotate a ServiceToken. */
  rotateAt: `${GROUP}/rotate-at`,
} as const;

export const LABELS = {
  managedBy: 'app.kubernetes.io/managed-by',
  /** On Secrets: `service-token` for the hash of a service token, `service-token-secret` for the token itself. */
  part: `${GROUP}/part`,
  /** `true` on the predefined policies and roles. */
  predefined: `${GROUP}/predefined`,
} as const;

/** Author of the predefined resources, as in the specification. */
export const PLATFORM_AUTHOR = 'platform-rbac-manager';
/** Reported when the author of a resource is not certain. */
export const UNKNOWN_AUTHOR = 'unknown';

/** RFC 1123 subdomain, as required by Kubernetes for object names. */
export const NAME_PATTERN = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$';
export const NAME_MAX_LENGTH = 253;

/** The fields of Kubernetes' ObjectMeta that olap-warden uses. Others are passed through unchanged. */
export interface ObjectMeta {
  name: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
  managedFields?: { manager?: string; operation?: string; time?: string; subresource?: string }[];
}

/** Whether the object is to be deleted, and stays only until its finalizers are removed. */
export function isBeingDeleted({ metadata }: { readonly metadata: Readonly<ObjectMeta> }): boolean {
  return metadata.deletionTimestamp !== undefined;
}

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

/** metav1.Condition. */
export const Condition = Type.Object(
  {
    type: Type.String({ maxLength: 316, description: 'Type of the condition in CamelCase, such as Ready.' }),
    status: StringEnum(['True', 'False', 'Unknown'], { description: 'True, False or Unknown.' }),
    observedGeneration: Type.Optional(
      Type.Integer({ format: 'int64', description: 'The metadata.generation for which the condition was set.' }),
    ),
    lastTransitionTime: Type.String({ format: 'date-time', description: 'Time of the last change of the status.' }),
    reason: Type.String({
      minLength: 1,
      maxLength: 1024,
      description: 'Reason of the last transition, in CamelCase.',
    }),
    message: Type.String({ maxLength: 32768, description: 'Human-readable description.' }),
  },
  { description: 'Condition of the object, as in metav1.Condition.' },
);
export type Condition = Static<typeof Condition>;

/** Status fields of all kinds. */
export const commonStatus = {
  srn: Type.Optional(Type.String({ maxLength: 512, description: 'Resource name (SRN), srn2:<kind>#<name>.' })),
  observedGeneration: Type.Optional(
    Type.Integer({ format: 'int64', description: 'The metadata.generation from which this status was computed.' }),
  ),
  conditions: Type.Optional(
    Type.Array(Condition, {
      maxItems: 16,
      description: 'Ready, and Reconciling or Stalled where they apply, for kstatus.',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['type'],
    }),
  ),
};

/** More names say nothing more, and each costs a write of the status when it comes or goes. */
export const MAX_REFERRERS = 3;

/** Status field of what others refer to by name. */
export const referencedBy = (referrers: string) =>
  Type.Optional(
    Type.Array(Type.String({ maxLength: NAME_MAX_LENGTH }), {
      maxItems: MAX_REFERRERS,
      description: `Names of ${referrers}, at most ${MAX_REFERRERS} of them. Empty: there are none. Absent: not known yet.`,
      'x-kubernetes-list-type': 'atomic',
    }),
  );
