// Names for the parts of the REST API's responses that the dashboard uses. The types themselves are generated: see api-types.ts.
import type {
  AssignmentOfRole,
  ClusterHealth,
  CursorResponse as CursorResponseFields,
  HealthCheckEntry,
  HealthCheckType,
  IssuedServiceToken,
  Role,
  SessionContext,
  SimulateAccessResponse,
  StoredResultListing,
  WhoAmI,
} from './api-types.ts';

export type {
  AccessReview,
  WhoCan,
  Assignment,
  GatewayInfo,
  HealthMute,
  HealthTransition,
  MyQueries,
  QueryStatus,
  Policy,
  PolicyDocument,
  PolicyPreview,
  PolicySummary,
  ResultStoreUsage,
  Role,
  ServiceToken,
  SignInMethods,
  StoredResultListing,
} from './api-types.ts';

export type CheckEntry = HealthCheckEntry;
export type CheckDefinition = HealthCheckType;
export type Cause = ClusterHealth['causes'][number];
export type Finding = HealthCheckEntry['findings'][number];
export type HealthReport = ClusterHealth;
export type Running = NonNullable<ClusterHealth['running']>;

/** The fields that roles and policies share. */
export type Authored = Role;
export type RoleAssignment = AssignmentOfRole;
export type NewServiceToken = Pick<IssuedServiceToken, 'srn' | 'accessKey' | 'secretKey' | 'bearerToken'>;
export type Whoami = WhoAmI;
/** Who is signed in where, and what it may do. */
export interface Session extends SessionContext {
  readonly me: WhoAmI;
}
/** The response for a single resource and action. */
export type SimulatedDecision = Required<Pick<SimulateAccessResponse, 'decision' | 'reason' | 'matchedStatements'>> &
  Pick<SimulateAccessResponse, 'conditions' | 'statementsOmitted'>;

/** A page of a result. Pinot's statistics are further fields; `exceptions` and an absent table are as Pinot returns them. */
export type CursorResponse = Omit<CursorResponseFields, 'resultTable' | 'exceptions'> & {
  readonly resultTable?: CursorResponseFields['resultTable'] | null;
  readonly exceptions: readonly { readonly errorCode?: number; readonly message: string }[];
  readonly [statistic: string]: unknown;
};
export type StoredResult = StoredResultListing['resultMetadataList'][number];

/** Responses of Pinot itself, which the gateway forwards and whose shape it does not define. */
export interface TableNames {
  readonly tables: readonly string[];
}
export interface InstanceNames {
  readonly instances: readonly string[];
}
export interface PinotInstance {
  readonly instanceName: string;
  readonly hostName: string;
  readonly port: string;
  readonly enabled: boolean;
  readonly tags: readonly string[];
}
/** Segments by server, of each table of a name. */
export type ServerMap = readonly {
  readonly tableName: string;
  readonly serverToSegmentsMap: Readonly<Record<string, readonly string[]>>;
}[];
/** Configurations by the type of the table. */
export type TableConfigs = Readonly<
  Record<
    string,
    | {
        readonly segmentsConfig: Readonly<
          Partial<
            Record<
              'replication' | 'replicasPerPartition' | 'timeColumnName' | 'retentionTimeValue' | 'retentionTimeUnit',
              string
            >
          >
        >;
        readonly tenants?: { readonly broker?: string; readonly server?: string };
      }
    | undefined
  >
>;
export interface TableSize {
  /** -1 where no server responded. */
  readonly reportedSizeInBytes: number;
}
export type TableSchema = Readonly<
  Record<
    string,
    readonly { readonly name: string; readonly dataType?: string; readonly singleValueField?: boolean }[] | undefined
  >
>;

/** Whom an assignment is for, in a form. */
export interface Subject {
  readonly subjectType: string;
  readonly subject: string;
}
