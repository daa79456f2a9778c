import { Type, type Static } from 'typebox';
import { StringEnum } from './schema.ts';

export const GROUP = 'olapwarden.io';
export const VERSION = 'v1alpha1';
export const API_VERSION = `${GROUP}/${VERSION}`;

/** Annotations and labels that olap-warden reads or writes. */
export const ANNOTATIONS = {
  /** Who made the object: an SRN for REST callers, the Kubernetes user name for kubectl (stamped by a MutatingAdmissionPolicy). */
  createdBy: `${GROUP}/created-by`,
  lastUpdatedBy: `${GROUP}/last-updated-by`,
  /** RFC 3339 time of the last change of spec or description through any door; the spec's `lastUpdatedAt`. */
  lastUpdatedAt: `${GROUP}/last-updated-at`,
  /** Any new value runs the health task at once. */
  runAt: `${GROUP}/run-at`,
  /** Any new value makes the operator rotate a ServiceToken. */
  rotateAt: `${GROUP}/rotate-at`,
} as const;

export const LABELS = {
  managedBy: 'app.kubernetes.io/managed-by',
  /** On Secrets: `service-token` where they hold the hash of a service token, `service-token-secret` where they hold the token itself. */
  part: `${GROUP}/part`,
  /** `true` on the predefined policies and roles. */
  predefined: `${GROUP}/predefined`,
} as const;

/** The author of predefined resources, by the spec. */
export const PLATFORM_AUTHOR = 'platform-rbac-manager';
/** Reported where the author of a resource cannot be known for sure. */
export const UNKNOWN_AUTHOR = 'unknown';

/** RFC 1123 subdomain, as Kubernetes demands of object names. */
export const NAME_PATTERN = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$';
export const NAME_MAX_LENGTH = 253;

/** `metadata` of an object; the fields of Kubernetes' ObjectMeta that olap-warden uses, others pass through untouched. */
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

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

/** metav1.Condition; `reason` is CamelCase, `message` is for people. */
export const Condition = Type.Object(
  {
    type: Type.String({ maxLength: 316, description: 'Type of the condition in CamelCase, such as Ready.' }),
    status: StringEnum(['True', 'False', 'Unknown'], { description: 'True, False or Unknown.' }),
    observedGeneration: Type.Optional(
      Type.Integer({ format: 'int64', description: 'The metadata.generation that the condition was set upon.' }),
    ),
    lastTransitionTime: Type.String({ format: 'date-time', description: 'When the status last changed.' }),
    reason: Type.String({
      minLength: 1,
      maxLength: 1024,
      description: 'The reason of the last transition, in CamelCase.',
    }),
    message: Type.String({ maxLength: 32768, description: 'What happened, for people.' }),
  },
  { description: 'One observation of the state of the object, as in metav1.Condition.' },
);
export type Condition = Static<typeof Condition>;

/** The status fields that every kind has. */
export const commonStatus = {
  srn: Type.Optional(
    Type.String({ maxLength: 512, description: 'The resource name of the RBAC manager, srn2:<kind>#<name>.' }),
  ),
  observedGeneration: Type.Optional(
    Type.Integer({ format: 'int64', description: 'The metadata.generation that this status was computed from.' }),
  ),
  conditions: Type.Optional(
    Type.Array(Condition, {
      maxItems: 16,
      description: 'Ready, and Reconciling or Stalled where they apply, as kstatus reads them.',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['type'],
    }),
  ),
};
