// Shapes of the public REST interface, as /openapi.json publishes them.

export interface Finding {
  readonly entityType: string;
  readonly entity: string;
  readonly message: string;
  readonly observed?: string;
  readonly threshold?: string;
}

export interface CheckEntry {
  readonly name: string;
  readonly title: string;
  readonly category: string;
  readonly status: 'PASS' | 'FAIL';
  readonly couldNotEvaluate?: boolean;
  readonly since?: string;
  readonly message: string;
  readonly findings: readonly Finding[];
  readonly findingCount: number;
  readonly remediation: string;
  readonly durationMs?: number;
}

export interface HealthReport {
  readonly runTimestamp: number | null;
  readonly durationMs: number | null;
  readonly status: 'PASS' | 'FAIL' | null;
  readonly summary: { readonly pass: number; readonly fail: number };
  readonly checks: readonly CheckEntry[];
  readonly running: {
    readonly taskId: string;
    readonly step: string;
    readonly done?: number;
    readonly total?: number;
    /** Decided so far, in that order. */
    readonly checks: readonly { readonly name: string; readonly status: 'PASS' | 'FAIL' }[];
    readonly checksTotal: number;
  } | null;
}

export interface CheckDefinition {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly category: string;
  readonly defaultThresholds: Readonly<Record<string, number>>;
}

export interface Authored {
  readonly srn: string;
  readonly name: string;
  readonly description?: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  readonly createdBy: string;
  readonly lastUpdatedBy: string;
  /** Who else manages the object, such as kubectl or Argo CD; absent where only the REST interface does. */
  readonly managedBy?: readonly string[];
}

export type Role = Authored;
export interface Policy extends Authored {
  readonly policyDocumentJson: string;
}
export interface PolicySummary {
  readonly name: string;
  readonly srn: string;
  readonly description?: string;
}
export interface Assignment {
  readonly subject: string;
  readonly subjectType: string;
  readonly createdAt?: string;
  readonly createdBy?: string;
  readonly managedBy?: readonly string[];
}
export interface RoleAssignment extends Assignment {
  /** Name of the role. */
  readonly role: string;
}
/** Name and resource name of a role or policy. */
export interface Reference {
  readonly name: string;
  readonly srn: string;
}
export interface ServiceToken {
  readonly srn: string;
  /** Absent while the operator has not made the token yet. */
  readonly accessKey?: string;
  readonly description: string;
  readonly createdAt: string;
  readonly createdBy: string;
  readonly expiresAt: string | null;
  readonly roles: readonly Reference[];
  readonly status: 'UNASSIGNED' | 'ACTIVE' | 'EXPIRED';
  readonly managedBy?: readonly string[];
}
export interface NewServiceToken {
  readonly srn: string;
  readonly accessKey: string;
  readonly secretKey: string;
  readonly bearerToken: string;
}
export interface Whoami {
  readonly srn: string;
  readonly kind: 'user' | 'service-token';
  readonly authenticator: string;
  readonly roles: readonly Reference[];
  readonly policies: readonly Reference[];
  readonly subjects: readonly { readonly subject: string; readonly subjectType: string }[];
}
export interface SimulatedDecision {
  readonly decision: 'ALLOW' | 'DENY';
  readonly reason: 'allowed' | 'explicitDeny' | 'implicitDeny' | 'invalidPolicy';
  readonly matchedStatements: readonly {
    readonly role?: string | null;
    readonly policy?: string | null;
    readonly statementIndex: number;
    readonly effect: 'allow' | 'deny';
  }[];
}

export interface CursorResponse {
  readonly resultTable?: {
    readonly dataSchema: { readonly columnNames: readonly string[]; readonly columnDataTypes: readonly string[] };
    readonly rows: readonly (readonly unknown[])[];
  } | null;
  readonly requestId: string;
  readonly brokerId: string;
  readonly brokerHost?: string;
  readonly brokerPort?: number;
  readonly numRowsResultSet: number;
  readonly offset: number;
  readonly numRows: number;
  readonly exceptions: readonly { readonly errorCode?: number; readonly message: string }[];
  readonly [statistic: string]: unknown;
}

export interface StoredResult {
  readonly requestId: string;
  readonly brokerId: string;
  readonly submissionTimeMs: number;
  readonly expirationTimeMs: number;
  readonly responseMetadata: readonly {
    readonly type: string;
    readonly numRows: number;
    readonly dataFile: string;
    readonly metadataFile: string;
  }[];
  readonly owner: string;
  readonly bytes: number;
}
