import type { Directory } from '../directory.ts';
import { AssignmentManager } from './assignments.ts';
import { recordingStore } from './changes.ts';
import { ResourceEditor, type EditorOptions } from './editor.ts';
import { EscalationGuard } from './escalation.ts';
import { PolicyManager } from './policies.ts';
import { RoleManager } from './roles.ts';
import { ServiceTokenManager } from './service-tokens.ts';
import { reference, type Reference } from './views.ts';
import type { Principal } from '../principal.ts';
import { simulate, type SimulatedRequest, type Simulation } from '../policy/simulate.ts';
import { userSubjects } from '../subjects.ts';
import type { Subject } from '../../resources/role-assignment.ts';

export interface ManagerOptions extends EditorOptions {
  readonly directory: Directory;
}

export interface WhoAmI {
  readonly srn: string;
  readonly kind: Principal['kind'];
  readonly authenticator: string;
  readonly subjects: readonly Subject[];
  readonly roles: readonly Reference[];
  readonly policies: readonly Reference[];
}

/** The RBAC manager: implements the REST operations without HTTP. */
export class RbacManager {
  readonly directory: Directory;
  readonly roles: RoleManager;
  readonly policies: PolicyManager;
  readonly assignments: AssignmentManager;
  readonly serviceTokens: ServiceTokenManager;

  constructor(options: ManagerOptions) {
    const { directory } = options;
    const editor = new ResourceEditor({ ...options, store: recordingStore(options.store) });
    const escalation = new EscalationGuard(directory);
    this.directory = directory;
    this.roles = new RoleManager(editor, directory, escalation);
    this.policies = new PolicyManager(editor, directory, escalation);
    this.assignments = new AssignmentManager(editor, directory, escalation);
    this.serviceTokens = new ServiceTokenManager(editor, directory, this.assignments);
  }

  /** Like `simulate` in `simulate.ts`, for this directory. */
  simulate(subjects: readonly Subject[], unsaved: unknown, requests: readonly SimulatedRequest[]): Promise<Simulation> {
    return simulate(this.directory, subjects, unsaved, requests);
  }

  whoAmI(caller: Principal): WhoAmI {
    const { srn, kind, authenticator } = caller;
    const subjects: Subject[] =
      kind === 'service-token' ? [{ type: 'service-token', name: caller.id }] : userSubjects(caller);
    const roles = this.directory.existingRolesOf(caller).map((name) => reference('role', name));
    const policies = this.directory
      .grantsOf(caller)
      .policies.flatMap(({ policy }) => (policy.name === undefined ? [] : [reference('policy', policy.name)]));
    return { srn, kind, authenticator, subjects, roles, policies };
  }
}
