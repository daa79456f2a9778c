import type { Administrators } from './administrators.ts';
import type { EscalationGuard } from './escalation.ts';

/** What decides whether a caller may make a change of access. */
export interface Guards {
  readonly escalation: EscalationGuard;
  readonly administrators: Administrators;
}
