/** The objects that the calls of the table name; they exist before the first call, and no call changes them. */
export interface Names {
  /** A role, and a policy of the same name that it has. */
  readonly role: string;
  /** Access key of a service token. */
  readonly token: string;
  /** A stored result of another caller. */
  readonly result: string;
  /** A stored result of another caller that a call may delete. */
  readonly spare: string;
}

export type Ask = readonly [action: string, resource: string];
export type Call = readonly [method: string, path: string, body?: unknown, headers?: Record<string, string>];

/** A call, and the questions that ask whether it is allowed. */
export interface Row {
  /** All of them must be answered ALLOW. */
  readonly asks: readonly Ask[];
  /** One of them is enough. */
  readonly oneOf?: true;
  readonly call: (names: Names) => Call;
  /** Statuses of the call where it is allowed. Most calls name what does not exist, so that they change nothing. */
  readonly done?: readonly number[];
  /** For calls that everybody may make: what is in the response where the answer is ALLOW. */
  readonly shows?: (names: Names) => string;
  /** Not every sample of policies must both allow and deny it. */
  readonly open?: true;
}

const RBAC = '/api/v1/rbac-manager';
const CLUSTER = 'srn2:cluster#pinot';
const ROLE = 'srn2:role#role-1';
const POLICY = 'srn2:policy#role-1';
const ABSENT = 'absent';
const DOCUMENT = { version: 'v1', statements: [{ effect: 'allow', resources: ['srn2:role#none'] }] };
const SQL = 'SELECT a FROM orders';
const READ_RESULT: readonly Ask[] = [
  ['GetResponseStore', CLUSTER],
  ['Query', 'srn2:table#orders'],
];

const path = (kind: 'role' | 'policy' | 'service-token', name: string): string => {
  const folder = { role: 'roles', policy: 'policies', 'service-token': 'service-tokens' }[kind];
  return `${RBAC}/${folder}/srn2:${kind}%23${name}`;
};
const get = (...[action, resource]: Ask): ((url: (names: Names) => string, done?: readonly number[]) => Row) => {
  return (url, done = [200]) => ({ asks: [[action, resource]], call: (names) => ['GET', url(names)], done });
};
const reading = (url: (names: Names) => string): Row => {
  return { asks: READ_RESULT, call: (names) => ['GET', url(names)], done: [200] };
};
const OPEN = { asks: [], open: true } as const;

/**
 * Every operation of the RBAC manager, of queries and their results, and of the health of the cluster, by its name in the OpenAPI document. Where an
 * operation has several forms that need other rights, it is here several times, with what differs after a space.
 */
export const OPERATIONS: Readonly<Record<string, Row>> = {
  whoAmI: { ...OPEN, call: () => ['GET', `${RBAC}/whoami`], done: [200] },
  accessReview: { ...OPEN, call: () => ['GET', `${RBAC}/access-review`], done: [200] },
  simulateAccess: {
    asks: [['SimulateAccess', CLUSTER]],
    call: () => [
      'POST',
      `${RBAC}/simulate-access`,
      { subjectTypeToSubject: { group: 'g' }, action: 'Query', resourceSrn2String: 'srn2:table#t' },
    ],
    done: [200],
  },
  whoCan: get('SimulateAccess', CLUSTER)(() => `${RBAC}/who-can?action=Query&resource=srn2:table%23t`),
  previewPolicy: {
    asks: [
      ['SimulateAccess', CLUSTER],
      ['CreatePolicy', POLICY],
      ['UpdatePolicy', POLICY],
    ],
    oneOf: true,
    call: () => ['POST', `${RBAC}/preview-policy`, { policyDocument: DOCUMENT }],
    done: [200],
  },

  createRole: {
    asks: [['CreateRole', 'srn2:role#system-admin']],
    call: () => ['POST', `${RBAC}/roles`, { name: 'system-admin' }],
    done: [409],
  },
  listRoles: {
    asks: [['GetRole', ROLE]],
    call: () => ['GET', `${RBAC}/roles`],
    shows: ({ role }) => `"srn2:role#${role}"`,
  },
  getRole: get('GetRole', ROLE)(({ role }) => path('role', role)),
  updateRole: {
    asks: [['UpdateRole', ROLE]],
    call: ({ role }) => ['PUT', path('role', role), {}],
    done: [200],
  },
  'updateRole that creates': {
    asks: [['CreateRole', ROLE]],
    call: ({ role }) => ['PUT', path('role', role), {}, { 'if-none-match': '*' }],
    done: [412],
  },
  deleteRole: {
    asks: [['DeleteRole', 'srn2:role#absent']],
    call: () => ['DELETE', path('role', ABSENT)],
    done: [404],
  },
  listRolePolicies: get('GetRole', ROLE)(({ role }) => `${path('role', role)}/policies`),
  attachPolicy: {
    asks: [['AttachPolicy', ROLE]],
    call: ({ role }) => ['POST', `${path('role', role)}/attach-policy`, { policySrn: 'srn2:policy#absent' }],
    done: [400, 403],
  },
  detachPolicy: {
    asks: [['DetachPolicy', ROLE]],
    call: ({ role }) => ['POST', `${path('role', role)}/detach-policy`, { policySrn: 'srn2:policy#absent' }],
    done: [400, 403],
  },
  listAssignments: get('GetAssignment', ROLE)(({ role }) => `${path('role', role)}/assignments`),
  listAllAssignments: {
    asks: [['GetAssignment', ROLE]],
    call: () => ['GET', `${RBAC}/assignments`],
    shows: ({ role }) => `"role":"${role}"`,
  },
  createAssignment: {
    asks: [['CreateAssignment', ROLE]],
    call: ({ role }) => [
      'POST',
      `${path('role', role)}/create-assignment`,
      { subject: '0'.repeat(16), subjectType: 'service-token' },
    ],
    done: [400, 403],
  },
  deleteAssignment: {
    asks: [['DeleteAssignment', ROLE]],
    call: ({ role }) => [
      'POST',
      `${path('role', role)}/delete-assignment`,
      { subject: 'nobody', subjectType: 'group' },
    ],
    done: [200, 403],
  },
  replaceAssignments: {
    asks: [
      ['GetAssignment', ROLE],
      ['CreateAssignment', ROLE],
      ['DeleteAssignment', ROLE],
    ],
    call: ({ role }) => ['PUT', `${path('role', role)}/assignments`, [], { 'if-match': '"none"' }],
    done: [403, 412],
  },

  createPolicy: {
    asks: [['CreatePolicy', 'srn2:policy#system-admin']],
    call: () => ['POST', `${RBAC}/policies`, { name: 'system-admin', policyDocument: DOCUMENT }],
    done: [409],
  },
  listPolicies: {
    asks: [['GetPolicy', POLICY]],
    call: () => ['GET', `${RBAC}/policies`],
    shows: ({ role }) => `"srn2:policy#${role}"`,
  },
  getPolicy: get('GetPolicy', POLICY)(({ role }) => path('policy', role)),
  listPolicyRoles: get('GetPolicy', POLICY)(({ role }) => `${path('policy', role)}/roles`),
  updatePolicy: {
    asks: [['UpdatePolicy', POLICY]],
    call: ({ role }) => ['PUT', path('policy', role), {}],
    done: [200],
  },
  'updatePolicy that creates': {
    asks: [['CreatePolicy', POLICY]],
    call: ({ role }) => ['PUT', path('policy', role), { policyDocument: DOCUMENT }, { 'if-none-match': '*' }],
    done: [412],
  },
  deletePolicy: {
    asks: [['DeletePolicy', 'srn2:policy#absent']],
    call: () => ['DELETE', path('policy', ABSENT)],
    done: [404],
  },

  createServiceToken: {
    asks: [['CreateServiceToken', 'srn2:service-token#team-new']],
    call: () => ['POST', `${RBAC}/service-tokens`, { expiresAt: '2000-01-01T00:00:00Z' }],
    done: [400],
  },
  listServiceTokens: {
    asks: [['GetServiceToken', 'srn2:service-token#TOKEN']],
    call: () => ['GET', `${RBAC}/service-tokens?description=role-1`],
    shows: ({ token }) => token,
  },
  getServiceToken: get('GetServiceToken', 'srn2:service-token#TOKEN')(({ token }) => path('service-token', token)),
  rotateServiceToken: {
    asks: [
      ['GetServiceToken', 'srn2:service-token#absent'],
      ['UpdateServiceToken', 'srn2:service-token#absent'],
    ],
    call: () => ['POST', `${path('service-token', ABSENT)}/rotate`, {}],
    done: [404],
  },
  deleteServiceToken: {
    asks: [['DeleteServiceToken', 'srn2:service-token#absent']],
    call: () => ['DELETE', path('service-token', ABSENT)],
    done: [404],
  },

  submitQuery: {
    asks: [['Query', 'srn2:table#orders']],
    call: () => ['POST', '/query/sql', { sql: SQL }],
    done: [200],
  },
  'submitQuery that stores its result': {
    asks: [['Query', 'srn2:table#orders']],
    call: () => ['POST', '/query/sql?doPaginate=true&numRows=1', { sql: SQL }],
    done: [200],
  },
  submitQueryByGet: get('Query', 'srn2:table#orders')(() => `/query/sql?sql=${encodeURIComponent(SQL)}`),
  getQueryResults: reading(({ result }) => `/query/${result}/results?offset=0&numRows=1`),
  'getQueryResults as a download': reading(({ result }) => `/query/${result}/results?format=csv`),
  getQueryMetadata: reading(({ result }) => `/query/${result}/metadata`),
  getQueryStatus: get('GetResponseStore', CLUSTER)(({ result }) => `/query/${result}`),
  listMyQueries: { ...OPEN, call: () => ['GET', '/query/mine'], done: [200] },
  cancelQuery: {
    asks: [['DeleteResponseStore', CLUSTER]],
    call: ({ result }) => ['DELETE', `/query/${result}`],
    done: [200],
  },
  listStoredResults: get('GetResponseStore', CLUSTER)(() => '/query/resultStore'),
  getResultStoreUsage: get('GetResponseStore', CLUSTER)(() => '/query/resultStore/usage'),
  deleteStoredResult: {
    asks: [['DeleteResponseStore', CLUSTER]],
    call: ({ spare }) => ['DELETE', `/query/resultStore/${spare}`],
    done: [200],
  },
  listCursors: get('GetResponseStore', CLUSTER)(() => '/responseStore'),
  getCursor: reading(({ result }) => `/responseStore/${result}`),
  getCursorResults: reading(({ result }) => `/responseStore/${result}/results?offset=0&numRows=1`),
  deleteCursor: {
    asks: [['DeleteResponseStore', CLUSTER]],
    call: ({ spare }) => ['DELETE', `/responseStore/${spare}`],
    done: [200],
  },
  getGatewayIdentity: { ...OPEN, call: () => ['GET', '/query/gateway'], done: [200] },
  getGateway: get('GetHealth', CLUSTER)(() => '/api/v1/gateway'),

  getClusterHealth: get('GetHealth', CLUSTER)(() => '/clusterHealth', [200, 503]),
  setClusterHealthState: {
    asks: [['ExecuteTask', CLUSTER]],
    call: () => ['PUT', '/clusterHealth?state=ENABLE'],
    done: [200, 503],
  },
  listHealthChecks: get('GetHealth', CLUSTER)(() => '/clusterHealth/list'),
  getClusterHealthHistory: get('GetHealth', CLUSTER)(() => '/clusterHealth/history'),
  listHealthMutes: get('GetHealth', CLUSTER)(() => '/clusterHealth/mutes'),
  createHealthMute: {
    asks: [['UpdateHealth', CLUSTER]],
    call: () => ['POST', '/clusterHealth/mutes', { entity: 't', reason: 'r', until: '2000-01-01T00:00:00Z' }],
    done: [400],
  },
  deleteHealthMute: {
    asks: [['UpdateHealth', CLUSTER]],
    call: () => ['DELETE', '/clusterHealth/mutes/mute-00000000'],
    done: [404],
  },
  getPeriodicTaskNames: get('GetHealth', CLUSTER)(() => '/periodictask/names'),
  runPeriodicTask: get('ExecuteTask', CLUSTER)(() => '/periodictask/run?taskName=OtherTask'),
};

/** Operations that need no right or only a credential, beside those above. */
export const ELSEWHERE = [
  'getOpenApi',
  ...['openSession', 'endSession', 'getSession', 'signInMethods', 'openOidcSession'],
];
