import { Type, type Static } from 'typebox';
import { closed, Description, Name, described, history, lastUse, readOnly, param, written, MAX_SRN } from './shared.ts';

export const Role = Type.Object({ ...described('role'), ...history, ...lastUse }, { $id: 'Role' });
export const WrittenRole = written(Role, 'WrittenRole', 'GetRole');
export const CreateRoleRequest = Type.Object(
  { name: Name, description: Type.Optional(Description) },
  { ...closed, $id: 'CreateRoleRequest' },
);
export const UpdateRoleRequest = Type.Object(
  { description: Type.Optional(Description), name: Type.Optional(Name), ...readOnly('role') },
  { ...closed, $id: 'UpdateRoleRequest' },
);

export const AttachPolicyRequest = Type.Object(
  { policySrn: Type.String({ minLength: 1, maxLength: MAX_SRN, description: '`srn2:policy#<name>`; one per call.' }) },
  { ...closed, $id: 'AttachPolicyRequest' },
);
export type AttachPolicyRequest = Partial<Static<typeof AttachPolicyRequest>>;

export const RoleParams = param('roleSrn', 'role');
