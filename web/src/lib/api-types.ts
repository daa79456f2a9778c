// Generated from the OpenAPI document by `make generate`; do not edit.

export type CreateRoleRequest = {
  readonly name: string;
  readonly description?: string;
};

export type Role = {
  readonly srn: string;
  readonly name: string;
  readonly description: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  readonly createdBy: string;
  readonly lastUpdatedBy: string;
  readonly managedBy?: ReadonlyArray<string>;
  readonly lastUsedAt?: string | null;
};

export type Error = {
  readonly timestamp: string;
  readonly status: number;
  readonly error: string;
  readonly message: string;
  readonly path: string;
  readonly code?: number;
  readonly numServersQueried?: number;
  readonly numServersResponded?: number;
};

export type UpdateRoleRequest = {
  readonly description?: string;
  readonly name?: string;
  readonly srn?: string;
  readonly createdAt?: string;
  readonly lastUpdatedAt?: string;
  readonly createdBy?: string;
  readonly lastUpdatedBy?: string;
  readonly managedBy?: ReadonlyArray<string>;
  readonly lastUsedAt?: string | null;
  readonly warnings?: ReadonlyArray<string>;
};

export type WrittenRole = {
  readonly srn: string;
  readonly name: string;
  readonly description?: string;
  readonly createdAt?: string;
  readonly lastUpdatedAt?: string;
  readonly createdBy?: string;
  readonly lastUpdatedBy?: string;
  readonly managedBy?: ReadonlyArray<string>;
  readonly lastUsedAt?: string | null;
};

export type AttachPolicyRequest = {
  readonly policySrn: string;
};

export type PolicySummary = {
  readonly srn: string;
  readonly name: string;
  readonly description: string;
};

export type CreateAssignmentRequest = {
  readonly subject: string;
  readonly subjectType: 'user-email' | 'email' | 'group' | 'domain' | 'service-token';
  readonly expiresAt?: string | null;
};

export type Assignment = {
  readonly subject: string;
  readonly subjectType: 'user-email' | 'group' | 'domain' | 'service-token';
  readonly createdAt?: string;
  readonly createdBy?: string;
  readonly expiresAt?: string | null;
  readonly status?: 'ACTIVE' | 'EXPIRED';
  readonly lastUsedAt?: string | null;
  readonly managedBy?: ReadonlyArray<string>;
};

export type AssignmentRequest = {
  readonly subject: string;
  readonly subjectType: 'user-email' | 'email' | 'group' | 'domain' | 'service-token';
};

export type AssignmentOfRole = {
  readonly role: string;
  readonly subject: string;
  readonly subjectType: 'user-email' | 'group' | 'domain' | 'service-token';
  readonly createdAt?: string;
  readonly createdBy?: string;
  readonly expiresAt?: string | null;
  readonly status?: 'ACTIVE' | 'EXPIRED';
  readonly lastUsedAt?: string | null;
  readonly managedBy?: ReadonlyArray<string>;
};

export type PolicyDocumentInput = {
  readonly version: 'v1';
  readonly statements: ReadonlyArray<StatementInput>;
};

export type CreatePolicyRequest = {
  readonly name: string;
  readonly description?: string;
  readonly policyDocumentJson?: string;
  readonly policyDocument?: PolicyDocumentInput;
};

export type Statement = {
  readonly description?: string;
  readonly effect: 'allow' | 'deny';
  readonly actions?: ReadonlyArray<string>;
  readonly resources: ReadonlyArray<string>;
  readonly conditions?: {
    readonly rowFilters?: ReadonlyArray<string>;
    readonly columns?: {
      readonly allow?: ReadonlyArray<string>;
      readonly deny?: ReadonlyArray<string>;
      readonly mask?: Readonly<Record<string, string>>;
    };
  };
};

export type PolicyDocument = {
  readonly version: 'v1';
  readonly statements: ReadonlyArray<Statement>;
};

export type Policy = {
  readonly srn: string;
  readonly name: string;
  readonly description: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  readonly createdBy: string;
  readonly lastUpdatedBy: string;
  readonly managedBy?: ReadonlyArray<string>;
  readonly policyDocumentJson: string;
  readonly policyDocument: PolicyDocument;
  readonly warnings?: ReadonlyArray<string>;
};

export type UpdatePolicyRequest = {
  readonly name?: string;
  readonly description?: string;
  readonly policyDocumentJson?: string;
  readonly policyDocument?: PolicyDocumentInput;
  readonly srn?: string;
  readonly createdAt?: string;
  readonly lastUpdatedAt?: string;
  readonly createdBy?: string;
  readonly lastUpdatedBy?: string;
  readonly managedBy?: ReadonlyArray<string>;
  readonly lastUsedAt?: string | null;
  readonly warnings?: ReadonlyArray<string>;
};

export type WrittenPolicy = {
  readonly srn: string;
  readonly name: string;
  readonly description?: string;
  readonly createdAt?: string;
  readonly lastUpdatedAt?: string;
  readonly createdBy?: string;
  readonly lastUpdatedBy?: string;
  readonly managedBy?: ReadonlyArray<string>;
  readonly policyDocumentJson?: string;
  readonly policyDocument?: PolicyDocument;
  readonly warnings?: ReadonlyArray<string>;
};

export type CreateServiceTokenRequest = {
  readonly description?: string;
  readonly expiresAt?: string | null;
};

export type IssuedServiceToken = {
  readonly srn: string;
  readonly description: string;
  readonly createdAt: string;
  readonly createdBy: string;
  readonly expiresAt: string | null;
  readonly accessKey: string;
  readonly secretKey: string;
  readonly bearerToken: string;
  readonly rotatedAt?: string;
  readonly formerSecrets?: ReadonlyArray<{
    readonly validUntil: string;
  }>;
};

export type ServiceToken = {
  readonly srn: string;
  readonly description: string;
  readonly createdAt: string;
  readonly createdBy: string;
  readonly expiresAt: string | null;
  readonly accessKey?: string;
  readonly roles: ReadonlyArray<{
    readonly name: string;
    readonly srn: string;
  }>;
  readonly rolesOmitted?: true;
  readonly status: 'UNASSIGNED' | 'ACTIVE' | 'EXPIRED';
  readonly rotatedAt?: string;
  readonly formerSecrets?: ReadonlyArray<{
    readonly validUntil: string;
  }>;
  readonly lastUsedAt?: string | null;
  readonly managedBy?: ReadonlyArray<string>;
};

export type RotateServiceTokenRequest = {
  readonly graceSeconds?: number;
};

export type WhoAmI = {
  readonly srn: string;
  readonly kind: 'user' | 'service-token';
  readonly authenticator: string;
  readonly subjects: ReadonlyArray<{
    readonly subject: string;
    readonly subjectType: 'user-email' | 'group' | 'domain' | 'service-token';
  }>;
  readonly roles: ReadonlyArray<{
    readonly name: string;
    readonly srn: string;
  }>;
  readonly assignments: ReadonlyArray<{
    readonly role: string;
    readonly subject: string;
    readonly subjectType: 'user-email' | 'group' | 'domain' | 'service-token';
    readonly expiresAt: string | null;
  }>;
  readonly policies: ReadonlyArray<{
    readonly name: string;
    readonly srn: string;
  }>;
  readonly values: Readonly<Record<string, ReadonlyArray<string>>>;
};

export type SimulateAccessRequest = {
  readonly policyDocumentJson?: string;
  readonly policyDocument?: PolicyDocumentInput;
  readonly subjectTypeToSubject: {
    readonly 'user-email'?: string | ReadonlyArray<string>;
    readonly email?: string | ReadonlyArray<string>;
    readonly group?: string | ReadonlyArray<string>;
    readonly domain?: string | ReadonlyArray<string>;
    readonly 'service-token'?: string | ReadonlyArray<string>;
  };
  readonly claims?: Readonly<Record<string, string | number | boolean | ReadonlyArray<string | number>>>;
  readonly resourceSrn2String?: string;
  readonly action?: string;
  readonly requests?: ReadonlyArray<{
    readonly resourceSrn2String: string;
    readonly action: string;
  }>;
};

export type SimulateAccessResponse = {
  readonly principal: {
    readonly subjects: ReadonlyArray<{
      readonly subject: string;
      readonly subjectType: 'user-email' | 'group' | 'domain' | 'service-token';
    }>;
    readonly roles: ReadonlyArray<{
      readonly name: string;
      readonly srn: string;
    }>;
  };
  readonly decision?: 'ALLOW' | 'CONDITIONAL' | 'DENY';
  readonly reason?: 'allowed' | 'systemAdmin' | 'conditional' | 'explicitDeny' | 'implicitDeny' | 'invalidPolicy';
  readonly conditions?: {
    readonly rowFilters?: ReadonlyArray<ReadonlyArray<string>>;
    readonly columns?: {
      readonly allow?: ReadonlyArray<string>;
      readonly deny?: ReadonlyArray<string>;
      readonly mask?: Readonly<Record<string, string>>;
    };
    readonly values?: Readonly<Record<string, ReadonlyArray<string>>>;
  };
  readonly matchedStatements?: ReadonlyArray<{
    readonly role: string | null;
    readonly policy: string | null;
    readonly roleSrn: string | null;
    readonly policySrn: string | null;
    readonly statementIndex: number;
    readonly effect: 'allow' | 'deny';
    readonly description?: string;
    readonly actions?: ReadonlyArray<string>;
    readonly resources?: ReadonlyArray<string>;
    readonly conditions?: {
      readonly rowFilters?: ReadonlyArray<string>;
      readonly columns?: {
        readonly allow?: ReadonlyArray<string>;
        readonly deny?: ReadonlyArray<string>;
        readonly mask?: Readonly<Record<string, string>>;
      };
    };
  }>;
  readonly statementsOmitted?: true;
  readonly results?: ReadonlyArray<{
    readonly resourceSrn2String: string;
    readonly action: string;
    readonly decision: 'ALLOW' | 'CONDITIONAL' | 'DENY';
    readonly reason: 'allowed' | 'systemAdmin' | 'conditional' | 'explicitDeny' | 'implicitDeny' | 'invalidPolicy';
    readonly conditions?: {
      readonly rowFilters?: ReadonlyArray<ReadonlyArray<string>>;
      readonly columns?: {
        readonly allow?: ReadonlyArray<string>;
        readonly deny?: ReadonlyArray<string>;
        readonly mask?: Readonly<Record<string, string>>;
      };
      readonly values?: Readonly<Record<string, ReadonlyArray<string>>>;
    };
    readonly matchedStatements: ReadonlyArray<{
      readonly role: string | null;
      readonly policy: string | null;
      readonly roleSrn: string | null;
      readonly policySrn: string | null;
      readonly statementIndex: number;
      readonly effect: 'allow' | 'deny';
      readonly description?: string;
      readonly actions?: ReadonlyArray<string>;
      readonly resources?: ReadonlyArray<string>;
      readonly conditions?: {
        readonly rowFilters?: ReadonlyArray<string>;
        readonly columns?: {
          readonly allow?: ReadonlyArray<string>;
          readonly deny?: ReadonlyArray<string>;
          readonly mask?: Readonly<Record<string, string>>;
        };
      };
    }>;
    readonly statementsOmitted?: true;
  }>;
};

export type WhoCan = {
  readonly total: number;
  readonly subjects: ReadonlyArray<{
    readonly subject: string;
    readonly subjectType: string;
    readonly description?: string;
    readonly conditional?: true;
    readonly role: string;
    readonly policy?: string;
    readonly statementIndex?: number;
    readonly expiresAt: string | null;
  }>;
  readonly totalRoles: number;
  readonly roles: ReadonlyArray<{
    readonly conditional?: true;
    readonly role: string;
    readonly policy?: string;
    readonly statementIndex?: number;
  }>;
};

export type AccessReview = {
  readonly trackedSince: string;
  readonly unusedDays: number;
  readonly complete: boolean;
  readonly total: number;
  readonly unused: ReadonlyArray<{
    readonly kind: 'role' | 'statement' | 'assignment' | 'service-token';
    readonly role?: string;
    readonly policy?: string;
    readonly statementIndex?: number;
    readonly subject?: string;
    readonly subjectType?: 'user-email' | 'group' | 'domain' | 'service-token';
    readonly serviceToken?: string;
    readonly description?: string;
    readonly lastUsedAt: string | null;
    readonly unusedSince: string;
  }>;
};

export type PreviewPolicyRequest = {
  readonly policyDocumentJson?: string;
  readonly policyDocument?: PolicyDocumentInput;
  readonly sql?: string;
  readonly values?: Readonly<Record<string, ReadonlyArray<string>>>;
};

export type PolicyPreview = {
  readonly sql?: string;
  readonly database?: string;
  readonly columnNames?: Readonly<Record<string, string>>;
  readonly mayRun?: boolean;
  readonly refusal?: string;
};

export type HealthCheckEntry = {
  readonly name: string;
  readonly title: string;
  readonly origin: 'specification' | 'extension';
  readonly category: 'segments' | 'tables' | 'servers' | 'skew' | 'upsert' | 'placement' | 'queries' | 'ingestion' | 'tasks';
  readonly status: 'PASS' | 'FAIL';
  readonly severity: 'critical' | 'warning' | 'advice';
  readonly couldNotEvaluate?: boolean;
  readonly unevaluatedRuns?: number;
  readonly lastEvaluated?: {
    readonly status: 'PASS' | 'FAIL';
    readonly time?: string;
    readonly since?: string;
    readonly severity?: 'critical' | 'warning' | 'advice';
    readonly findingCount: number;
    readonly unreadCount?: number;
    readonly mutedCount?: number;
    readonly causedCount?: number;
    readonly mutes?: ReadonlyArray<{
      readonly id: string;
      readonly findingCount: number;
    }>;
    readonly entities?: ReadonlyArray<{
      readonly entityType: string;
      readonly entity: string;
    }>;
  };
  readonly since?: string;
  readonly message: string;
  readonly findings: ReadonlyArray<{
    readonly entityType: string;
    readonly entity: string;
    readonly message: string;
    readonly observed?: string;
    readonly threshold?: string;
    readonly severity?: 'critical' | 'warning' | 'advice';
    readonly since?: string;
    readonly couldNotRead?: boolean;
    readonly mutedBy?: string;
    readonly cause?: string;
  }>;
  readonly findingCount: number;
  readonly unreadCount?: number;
  readonly mutedCount?: number;
  readonly causedCount?: number;
  readonly mutes?: ReadonlyArray<{
    readonly id: string;
    readonly findingCount: number;
  }>;
  readonly muted?: boolean;
  readonly remediation: string;
  readonly durationMs: number;
};

export type ClusterHealth = {
  readonly runTimestamp: number | null;
  readonly durationMs: number | null;
  readonly status: 'PASS' | 'FAIL' | null;
  readonly summary: {
    readonly pass: number;
    readonly fail: number;
    readonly failMuted: number;
    readonly failBySeverity: {
      readonly critical: number;
      readonly warning: number;
      readonly advice: number;
    };
  };
  readonly causes: ReadonlyArray<{
    readonly id: string;
    readonly kind: 'instance-down' | 'instance-disabled' | 'instance-starting' | 'instance-unresponsive' | 'disk-full' | 'tenant-without-servers' | 'tenant-without-brokers' | 'table-incomplete' | 'table-rebalancing' | 'table-unserved' | 'ingestion-paused';
    readonly entityType: string;
    readonly entity: string;
    readonly severity: 'critical' | 'warning' | 'advice';
    readonly since: string;
    readonly message: string;
    readonly checks: ReadonlyArray<string>;
    readonly findingCount: number;
    readonly mutedCount?: number;
    readonly tables: number;
    readonly segments: number;
    readonly unserved: number;
  }>;
  readonly checks: ReadonlyArray<HealthCheckEntry>;
  readonly healthCheckResult: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, {
    readonly pass: boolean;
  }>>>>>>;
  readonly running: {
    readonly taskId: string;
    readonly step: string;
    readonly done?: number;
    readonly total?: number;
    readonly checks: ReadonlyArray<{
      readonly name: string;
      readonly status: 'PASS' | 'FAIL';
    }>;
    readonly checksTotal: number;
  } | null;
  readonly lastComplete: {
    readonly runTimestamp: number;
    readonly ageMs: number;
    readonly pass: number;
    readonly fail: number;
    readonly failMuted?: number;
    readonly failBySeverity?: {
      readonly critical: number;
      readonly warning: number;
      readonly advice: number;
    };
    readonly checks: ReadonlyArray<{
      readonly name: string;
      readonly status: 'PASS' | 'FAIL';
      readonly severity?: 'critical' | 'warning' | 'advice';
      readonly findingCount: number;
      readonly mutedCount?: number;
    }>;
  } | null;
};

export type HealthCheckType = {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly origin: 'specification' | 'extension';
  readonly category: 'segments' | 'tables' | 'servers' | 'skew' | 'upsert' | 'placement' | 'queries' | 'ingestion' | 'tasks';
  readonly severity: 'critical' | 'warning' | 'advice';
  readonly defaultThresholds: Readonly<Record<string, number>>;
};

export type HealthTransition = {
  readonly check: string;
  readonly from: 'PASS' | 'FAIL' | 'NOT_EVALUATED';
  readonly to: 'PASS' | 'FAIL' | 'NOT_EVALUATED';
  readonly time: string;
  readonly run?: string;
  readonly findingCount: number;
};

export type HealthMute = {
  readonly id: string;
  readonly check: string;
  readonly entity: string;
  readonly reason: string;
  readonly author?: string;
  readonly until: string;
  readonly active: boolean;
  readonly findingCount: number;
};

export type HealthMuteRequest = {
  readonly check?: string;
  readonly entity: string;
  readonly reason: string;
  readonly until: string;
};

export type TaskRun = {
  readonly taskId: string;
  readonly isSuccessful: boolean;
  readonly message: string;
};

export type QueryMetadata = {
  readonly requestId: string;
  readonly brokerId: string;
  readonly exceptions: ReadonlyArray<unknown>;
  readonly segmentStatistics: ReadonlyArray<unknown>;
  readonly traceInfo: Readonly<Record<string, unknown>>;
  readonly numGroupsLimitReached: boolean;
  readonly maxRowsInJoinReached: boolean;
  readonly partialResult: boolean;
  readonly numServersQueried: number;
  readonly numServersResponded: number;
  readonly numSegmentsQueried: number;
  readonly numSegmentsProcessed: number;
  readonly numSegmentsMatched: number;
  readonly numConsumingSegmentsQueried: number;
  readonly numConsumingSegmentsProcessed: number;
  readonly numConsumingSegmentsMatched: number;
  readonly numDocsScanned: number;
  readonly numEntriesScannedInFilter: number;
  readonly numEntriesScannedPostFilter: number;
  readonly totalDocs: number;
  readonly timeUsedMs: number;
  readonly offlineThreadCpuTimeNs: number;
  readonly realtimeThreadCpuTimeNs: number;
  readonly offlineSystemActivitiesCpuTimeNs: number;
  readonly realtimeSystemActivitiesCpuTimeNs: number;
  readonly offlineResponseSerializationCpuTimeNs: number;
  readonly realtimeResponseSerializationCpuTimeNs: number;
  readonly offlineTotalCpuTimeNs: number;
  readonly realtimeTotalCpuTimeNs: number;
  readonly brokerReduceTimeMs: number;
  readonly numRowsResultSet: number;
  readonly minConsumingFreshnessTimeMs: number;
  readonly explainPlanNumEmptyFilterSegments: number;
  readonly explainPlanNumMatchAllFilterSegments: number;
  readonly numSegmentsPrunedByServer: number;
  readonly numSegmentsPrunedInvalid: number;
  readonly numSegmentsPrunedByLimit: number;
  readonly numSegmentsPrunedByValue: number;
  readonly numSegmentsPrunedByBroker: number;
};

export type StoredResultListing = {
  readonly resultMetadataList: ReadonlyArray<{
    readonly requestId: string;
    readonly brokerId: string;
    readonly submissionTimeMs: number;
    readonly expirationTimeMs: number;
    readonly responseMetadata: ReadonlyArray<{
      readonly type: string;
      readonly numRows: number;
      readonly dataFile: string;
      readonly metadataFile: string;
    }>;
    readonly owner: string;
    readonly bytes: number;
    readonly damaged?: string;
  }>;
};

export type ResultStoreUsage = {
  readonly usedBytes: number;
  readonly capacityBytes: number | null;
  readonly cleanerEnabled: boolean;
  readonly quotaBytes: number;
  readonly criticalPercent: number;
  readonly targetPercent: number;
};

export type CursorMetadata = {
  readonly requestId: string;
  readonly brokerId: string;
  readonly numRowsResultSet: number;
  readonly offset: number;
  readonly numRows: number;
  readonly submissionTimeMs: number;
  readonly expirationTimeMs: number;
  readonly bytesWritten: number;
  readonly tablesQueried: ReadonlyArray<string>;
  readonly exceptions: ReadonlyArray<unknown>;
  readonly brokerHost?: string;
  readonly brokerPort?: number;
};

export type QueryStatus = {
  readonly requestId: string;
  readonly brokerId: string;
  readonly owner: string;
  readonly state: 'queued' | 'running' | 'storing' | 'done' | 'failed' | 'cancelled';
  readonly sql?: string;
  readonly tables: ReadonlyArray<string>;
  readonly submissionTimeMs: number;
  readonly startTimeMs?: number;
  readonly endTimeMs?: number;
  readonly elapsedMs?: number;
  readonly numRowsResultSet: number;
  readonly bytes: number;
  readonly expirationTimeMs?: number;
  readonly nextOffsetParams?: string;
  readonly nextUrl?: string;
  readonly downloads?: {
    readonly jsonl: string;
    readonly csv: string;
    readonly arrow: string;
    readonly parquet: string;
  };
  readonly cancelRequested?: boolean;
  readonly error?: {
    readonly status: number;
    readonly message: string;
    readonly exceptions?: ReadonlyArray<{
      readonly errorCode?: number;
      readonly message: string;
    }>;
  };
  readonly warnings?: ReadonlyArray<string>;
  readonly damaged?: string;
  readonly brokerHost?: string;
  readonly brokerPort?: number;
};

export type MyQueries = {
  readonly queries: ReadonlyArray<QueryStatus>;
  readonly nextParams?: string;
  readonly incomplete?: boolean;
};

export type GatewayInfo = {
  readonly version: string;
  readonly brokerId: string;
  readonly startedAt: string;
  readonly store: {
    readonly kind: string;
    readonly synced: boolean;
    readonly ageMs: number;
    readonly lastError: string | null;
  };
  readonly engine: {
    readonly url: string;
    readonly reachable: boolean;
    readonly message: string | null;
  };
  readonly instances: ReadonlyArray<{
    readonly brokerId: string;
    readonly host: string;
    readonly port: number;
    readonly self: boolean;
  }>;
  readonly pagination: {
    readonly protocol: string;
  };
};

export type SessionContext = {
  readonly environment: string;
  readonly cluster: string;
  readonly colour: string | null;
  readonly contact: string | null;
  readonly caller: string;
  readonly access: Readonly<Record<string, ReadonlyArray<string>>>;
  readonly clusterActions: ReadonlyArray<string>;
};

export type SignInMethods = {
  readonly oidc: null | {
    readonly authorizationEndpoint: string;
    readonly clientId: string;
    readonly scope: string;
  };
};

export type CursorResponse = {
  readonly resultTable: {
    readonly dataSchema: {
      readonly columnNames: ReadonlyArray<string>;
      readonly columnDataTypes: ReadonlyArray<string>;
    };
    readonly rows: ReadonlyArray<ReadonlyArray<unknown>>;
  };
  readonly requestId: string;
  readonly brokerId: string;
  readonly numRowsResultSet: number;
  readonly offset: number;
  readonly numRows: number;
  readonly nextOffsetParams?: string;
  readonly nextUrl?: string;
  readonly exceptions: ReadonlyArray<unknown>;
  readonly brokerHost?: string;
  readonly brokerPort?: number;
  readonly submissionTimeMs: number;
  readonly expirationTimeMs: number;
  readonly bytesWritten: number;
  readonly cursorResultWriteTimeMs: number;
  readonly cursorFetchTimeMs: number;
  readonly warnings?: ReadonlyArray<string>;
};

export type QueryResponse = {
  readonly resultTable?: {
    readonly dataSchema: {
      readonly columnNames: ReadonlyArray<string>;
      readonly columnDataTypes: ReadonlyArray<string>;
    };
    readonly rows: ReadonlyArray<ReadonlyArray<unknown>>;
  };
  readonly exceptions: ReadonlyArray<unknown>;
};

export type ResultLinks = {
  readonly requestId: string;
  readonly dataSchema: {
    readonly columnNames: ReadonlyArray<string>;
    readonly columnDataTypes: ReadonlyArray<string>;
  };
  readonly numRowsResultSet: number;
  readonly offset: number;
  readonly numRows: number;
  readonly url: string;
  readonly expirationTimeMs: number;
  readonly coding: 'identity' | 'zstd';
  readonly parts: ReadonlyArray<{
    readonly offset: number;
    readonly numRows: number;
    readonly headers: {
      readonly Range: string;
    };
    readonly bytes: number;
    readonly rowsStart: number;
    readonly rowsEnd: number;
    readonly crc32?: string;
  }>;
};

export type StatementInput = {
  readonly description?: string;
  readonly effect?: 'allow' | 'deny';
  readonly actions?: string | ReadonlyArray<string>;
  readonly resources: string | ReadonlyArray<string>;
  readonly conditions?: {
    readonly rowFilters?: ReadonlyArray<string>;
    readonly columns?: {
      readonly allow?: ReadonlyArray<string>;
      readonly deny?: ReadonlyArray<string>;
      readonly mask?: Readonly<Record<string, string>>;
    };
  };
};
