/** Examples that the documentation of several operations shares. */
import type { Link } from '../server/operation.ts';

export const STATEMENT = { effect: 'allow', actions: ['Query', 'GetTable*'], resources: ['srn2:table#events'] };
export const DOCUMENT = { version: 'v1', statements: [STATEMENT] };
export const AUTHOR = 'srn2:user#ada@example.com';
export const HISTORY = {
  createdAt: '2026-01-31T08:00:00.000Z',
  lastUpdatedAt: '2026-02-01T09:30:00.000Z',
  createdBy: AUTHOR,
  lastUpdatedBy: AUTHOR,
};
export const ROLE = { srn: 'srn2:role#analysts', name: 'analysts', description: 'Reads events', ...HISTORY };
export const SUMMARY = { srn: 'srn2:policy#read-events', name: 'read-events', description: 'Queries on events' };
export const POLICY = {
  ...SUMMARY,
  ...HISTORY,
  policyDocumentJson: JSON.stringify(DOCUMENT),
  policyDocument: DOCUMENT,
};
export const TOKEN = {
  srn: 'srn2:service-token#a1b2c3d4e5f6g7h8',
  accessKey: 'a1b2c3d4e5f6g7h8',
  description: 'Nightly report',
  createdAt: HISTORY.createdAt,
  createdBy: AUTHOR,
  expiresAt: '2027-01-31T00:00:00Z',
};
/** 32 characters of the form of a secret key. */
export const SECRET_KEY = 'exampleexampleexampleexample0000';
export const SUBJECT = { subject: 'ada@example.com', subjectType: 'user-email' };
export const ASSIGNMENT = {
  ...SUBJECT,
  createdAt: HISTORY.createdAt,
  createdBy: AUTHOR,
  expiresAt: '2026-12-31T00:00:00Z',
  status: 'ACTIVE',
};

export const ofRole = (operationId: string, description: string, requestBody?: unknown): Link => ({
  operationId,
  description,
  parameters: { roleSrn: '$response.body#/srn' },
  ...(requestBody === undefined ? {} : { requestBody }),
});
export const ofPolicy = (operationId: string, description: string): Link => ({
  operationId,
  description,
  parameters: { policySrn: '$response.body#/srn' },
});
export const ofToken = (operationId: string, description: string): Link => ({
  operationId,
  description,
  parameters: { tokenSrn: '$response.body#/srn' },
});

export const ROLE_LINKS = {
  getRole: ofRole('getRole', 'Reads the role.'),
  updateRole: ofRole('updateRole', 'Changes the role.', { description: 'Reads events' }),
  createAssignment: ofRole('createAssignment', 'Assigns the role.', SUBJECT),
  listAssignments: ofRole('listAssignments', 'Lists who has the role.'),
  listRolePolicies: ofRole('listRolePolicies', 'Lists the policies of the role.'),
  deleteRole: ofRole('deleteRole', 'Deletes the role.'),
};
export const POLICY_LINKS = {
  getPolicy: ofPolicy('getPolicy', 'Reads the policy.'),
  updatePolicy: ofPolicy('updatePolicy', 'Changes the policy.'),
  listPolicyRoles: ofPolicy('listPolicyRoles', 'Lists the roles with the policy.'),
  deletePolicy: ofPolicy('deletePolicy', 'Deletes the policy.'),
};
