import type { DocsByOperation, Link } from './operation-docs.ts';

const STATEMENT = { effect: 'allow', actions: ['Query', 'GetTable*'], resources: ['srn2:table#events'] };
const DOCUMENT = { version: 'v1', statements: [STATEMENT] };
const AUTHOR = 'srn2:user#ada@example.com';
const HISTORY = {
  createdAt: '2026-01-31T08:00:00.000Z',
  lastUpdatedAt: '2026-02-01T09:30:00.000Z',
  createdBy: AUTHOR,
  lastUpdatedBy: AUTHOR,
};
const ROLE = { srn: 'srn2:role#analysts', name: 'analysts', description: 'Reads events', ...HISTORY };
const SUMMARY = { srn: 'srn2:policy#read-events', name: 'read-events', description: 'Queries on events' };
const POLICY = { ...SUMMARY, ...HISTORY, policyDocumentJson: JSON.stringify(DOCUMENT), policyDocument: DOCUMENT };
const TOKEN = {
  srn: 'srn2:service-token#a1b2c3d4e5f6g7h8',
  accessKey: 'a1b2c3d4e5f6g7h8',
  description: 'Nightly report',
  createdAt: HISTORY.createdAt,
  createdBy: AUTHOR,
  expiresAt: '2027-01-31T00:00:00Z',
};
/** 32 characters of the form of a secret key. */
const SECRET_KEY = 'exampleexampleexampleexample0000';
const SUBJECT = { subject: 'ada@example.com', subjectType: 'user-email' };
const ASSIGNMENT = {
  ...SUBJECT,
  createdAt: HISTORY.createdAt,
  createdBy: AUTHOR,
  expiresAt: '2026-12-31T00:00:00Z',
  status: 'ACTIVE',
};

const ofRole = (operationId: string, description: string, requestBody?: unknown): Link => ({
  operationId,
  description,
  parameters: { roleSrn: '$response.body#/srn' },
  ...(requestBody === undefined ? {} : { requestBody }),
});
const ofPolicy = (operationId: string, description: string): Link => ({
  operationId,
  description,
  parameters: { policySrn: '$response.body#/srn' },
});
const ofToken = (operationId: string, description: string): Link => ({
  operationId,
  description,
  parameters: { tokenSrn: '$response.body#/srn' },
});

const ROLE_LINKS = {
  getRole: ofRole('getRole', 'Reads the role.'),
  updateRole: ofRole('updateRole', 'Changes the role.', { description: 'Reads events' }),
  createAssignment: ofRole('createAssignment', 'Assigns the role.', SUBJECT),
  listAssignments: ofRole('listAssignments', 'Lists who has the role.'),
  listRolePolicies: ofRole('listRolePolicies', 'Lists the policies of the role.'),
  deleteRole: ofRole('deleteRole', 'Deletes the role.'),
};
const POLICY_LINKS = {
  getPolicy: ofPolicy('getPolicy', 'Reads the policy.'),
  updatePolicy: ofPolicy('updatePolicy', 'Changes the policy.'),
  listPolicyRoles: ofPolicy('listPolicyRoles', 'Lists the roles with the policy.'),
  deletePolicy: ofPolicy('deletePolicy', 'Deletes the policy.'),
};

/** The RBAC manager. */
export const RBAC_DOCS: DocsByOperation = {
  createRole: {
    ok: 'The new role.',
    request: { name: 'analysts', description: 'Reads events' },
    response: ROLE,
    versions: 'tag',
    links: ROLE_LINKS,
  },
  listRoles: { ok: 'The roles.', response: [ROLE] },
  getRole: { ok: 'The role.', response: ROLE, versions: 'read' },
  updateRole: {
    ok: 'The changed role.',
    request: { description: 'Reads events' },
    response: ROLE,
    versions: 'write',
    links: { getRole: ROLE_LINKS.getRole, deleteRole: ROLE_LINKS.deleteRole },
  },
  deleteRole: { ok: 'The role is deleted. The body is empty.', versions: 'remove' },
  attachPolicy: {
    ok: 'The role, which now has the policy.',
    request: { policySrn: SUMMARY.srn },
    response: ROLE,
    versions: 'write',
    links: { listRolePolicies: ROLE_LINKS.listRolePolicies },
  },
  detachPolicy: {
    ok: 'The role, which no longer has the policy.',
    request: { policySrn: SUMMARY.srn },
    response: ROLE,
    versions: 'write',
    links: { deleteRole: ROLE_LINKS.deleteRole },
  },
  listRolePolicies: { ok: 'The policies of the role.', response: [SUMMARY] },
  listPolicyRoles: { ok: 'The roles with the policy.', response: [ROLE] },
  createAssignment: {
    ok: 'The assignment.',
    request: { ...SUBJECT, expiresAt: '2099-12-31T00:00:00Z' },
    response: ASSIGNMENT,
    versions: 'remove',
    links: {
      deleteAssignment: {
        operationId: 'deleteAssignment',
        description: 'Removes the role from the subject.',
        parameters: { roleSrn: '$request.path.roleSrn' },
        requestBody: { subject: '$response.body#/subject', subjectType: '$response.body#/subjectType' },
      },
    },
  },
  deleteAssignment: {
    ok: 'The assignment that was deleted; without times where there was none.',
    request: SUBJECT,
    response: ASSIGNMENT,
    versions: 'remove',
  },
  listAssignments: { ok: 'The subjects of the role.', response: [ASSIGNMENT], versions: 'tag' },
  replaceAssignments: {
    ok: 'The subjects of the role, which are now those of the body.',
    request: [
      { ...SUBJECT, expiresAt: '2099-12-31T00:00:00Z' },
      { subject: 'analysts', subjectType: 'group' },
    ],
    response: [ASSIGNMENT],
    versions: 'write',
  },
  listAllAssignments: { ok: 'The subjects of the roles.', response: [{ role: 'analysts', ...ASSIGNMENT }] },
  listPolicies: { ok: 'The policies.', response: [SUMMARY] },
  createPolicy: {
    ok: 'The new policy.',
    request: { name: SUMMARY.name, description: SUMMARY.description, policyDocument: DOCUMENT },
    response: POLICY,
    versions: 'tag',
    links: POLICY_LINKS,
  },
  getPolicy: { ok: 'The policy with its document.', response: POLICY, versions: 'read' },
  updatePolicy: {
    ok: 'The changed policy.',
    request: { policyDocument: DOCUMENT },
    response: POLICY,
    versions: 'write',
    links: { getPolicy: POLICY_LINKS.getPolicy, deletePolicy: POLICY_LINKS.deletePolicy },
  },
  deletePolicy: { ok: 'The policy is deleted. The body is empty.', versions: 'remove' },
  createServiceToken: {
    ok: 'The new token with its secret, which is returned only here.',
    request: { description: 'Nightly report', expiresAt: '2099-01-31T00:00:00Z' },
    response: { ...TOKEN, secretKey: SECRET_KEY, bearerToken: `svc-${TOKEN.accessKey}-${SECRET_KEY}` },
    versions: 'tag',
    links: {
      getServiceToken: ofToken('getServiceToken', 'Reads the token.'),
      deleteServiceToken: ofToken('deleteServiceToken', 'Revokes the token.'),
    },
  },
  listServiceTokens: {
    ok: 'The service tokens.',
    response: [{ ...TOKEN, roles: [{ name: ROLE.name, srn: ROLE.srn }], status: 'ACTIVE' }],
  },
  getServiceToken: {
    ok: 'The service token.',
    response: { ...TOKEN, roles: [{ name: ROLE.name, srn: ROLE.srn }], status: 'ACTIVE' },
    versions: 'tag',
  },
  deleteServiceToken: { ok: 'The token is revoked. The body is empty.', versions: 'remove' },
  whoAmI: {
    ok: 'The caller.',
    response: {
      srn: AUTHOR,
      kind: 'user',
      authenticator: 'oidc',
      subjects: [{ subject: 'ada@example.com', subjectType: 'user-email' }],
      roles: [{ name: ROLE.name, srn: ROLE.srn }],
      assignments: [{ role: ROLE.name, ...SUBJECT, expiresAt: '2026-12-31T00:00:00.000Z' }],
      policies: [{ name: SUMMARY.name, srn: SUMMARY.srn }],
    },
  },
  simulateAccess: {
    ok: 'The decisions with their reasons.',
    request: {
      subjectTypeToSubject: { 'user-email': 'ada@example.com' },
      resourceSrn2String: 'srn2:table#events',
      action: 'Query',
    },
    response: {
      principal: {
        subjects: [{ subject: 'ada@example.com', subjectType: 'user-email' }],
        roles: [{ name: ROLE.name, srn: ROLE.srn }],
      },
      decision: 'ALLOW',
      reason: 'allowed',
      matchedStatements: [
        {
          role: ROLE.name,
          policy: SUMMARY.name,
          roleSrn: ROLE.srn,
          policySrn: SUMMARY.srn,
          statementIndex: 0,
          ...STATEMENT,
        },
      ],
    },
  },
  accessReview: {
    ok: 'The roles, statements, assignments and service tokens without recent use.',
    response: {
      trackedSince: '2026-01-01',
      unusedDays: 90,
      complete: true,
      total: 1,
      unused: [{ kind: 'role', role: 'analysts', lastUsedAt: null, unusedSince: '2026-01-01' }],
    },
  },
  whoCan: {
    ok: 'The subjects that may perform the action, and the roles that allow it.',
    response: { total: 0, subjects: [], totalRoles: 0, roles: [] },
  },
};
