import type { SubjectType } from './role-assignment.ts';
import { quote } from './validation-message.ts';

/** A rule that names of subjects keep, since no caller has another name. As CEL for the CRD, and as TypeScript for REST and the status. */
interface SubjectRule {
  /** Whether the rule holds, over `self` with `type` and `name`. */
  readonly cel: string;
  /** What is wrong and what would be right, after the name. */
  readonly message: string;
  readonly holds: (subject: SubjectName) => boolean;
  /** The name that was probably meant. */
  readonly meant?: (subject: SubjectName) => SubjectName | undefined;
}

interface SubjectName {
  readonly type: SubjectType;
  readonly name: string;
}

const LABEL = '[\\p{L}\\p{N}_]([\\p{L}\\p{N}\\p{M}_-]*[\\p{L}\\p{N}\\p{M}_])?';
/** As `emailDomain()` finds it in an address: at least two labels, or `localhost`. */
const DOMAIN = `^((?i:localhost)|${LABEL}(\\.${LABEL})+)$`;
/** What stands around an address or between several. Of names without `@`, such as those of Kubernetes, less is known. */
const NO_SINGLE_ADDRESS = '^@|@$|@.*\\.$|^["\'`]|[ ,;<>].*@|@.*[ ,;<>]|^(?i:mailto):|%40';
const SERVICE_ACCOUNT = '^system:serviceaccount:[-a-z0-9]+:[-.a-z0-9]+$';
/** Groups of Kubernetes, and the name of callers without a credential, whom the gateway refuses. */
const GROUPS_OF_KUBERNETES =
  '^system:(masters|authenticated|unauthenticated|anonymous|nodes|bootstrappers|monitoring|serviceaccounts(:.*)?)$';
const TOKEN_NAME = '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$';
const BEARER_TOKEN = '^svc-[a-z0-9]{16}-[a-z0-9]{32}$';

const regexps = new Map<string, RegExp>();

function matches(text: string, pattern: string): boolean {
  let regexp = regexps.get(pattern);
  if (!regexp) regexps.set(pattern, (regexp = new RegExp(pattern, 'u')));
  return regexp.test(text);
}

/** The rule that names of one type match a pattern, or do not match it. */
function formOf(type: SubjectType, pattern: string, matching: boolean): Pick<SubjectRule, 'cel' | 'holds'> {
  const cel = `${matching ? '' : '!'}self.name.matches(r"""${pattern}""")`;
  return {
    cel: `self.type != '${type}' || ${cel}`,
    holds: (subject) => subject.type !== type || matches(subject.name, pattern) === matching,
  };
}

const SRN = /^srn2:[a-z-]+#/;

export const SUBJECT_RULES: readonly SubjectRule[] = [
  {
    cel: "!self.name.contains('*')",
    message: 'has a `*`, which is no pattern in a subject: use a group, or the domain of the addresses',
    holds: ({ name }) => !name.includes('*'),
    meant: ({ type, name }) => (type === 'group' ? undefined : domainOf(name.replaceAll('*', ''))),
  },
  {
    cel: "!self.name.contains('${')",
    message: 'has a variable such as `${user}`, which is not replaced: write the name',
    holds: ({ name }) => !name.includes('${'),
  },
  {
    cel: "!self.name.startsWith('srn2:')",
    message: 'must be the name alone, without `srn2:` and kind',
    holds: ({ name }) => !name.startsWith('srn2:'),
    meant: ({ type, name }) => (SRN.test(name) ? { type, name: name.replace(SRN, '') } : undefined),
  },
  {
    ...formOf('user-email', NO_SINGLE_ADDRESS, false),
    message: 'must be one e-mail address without anything around it, such as `ada@example.com`, or a user name',
    meant: ({ name }) => addressIn(name) ?? (name.startsWith('@') ? domainOf(name) : undefined),
  },
  {
    ...formOf('user-email', GROUPS_OF_KUBERNETES, false),
    message: 'is no user of Kubernetes but a group: use the type group',
    meant: ({ name }) => (/anonymous|unauth/.test(name) ? undefined : { type: 'group', name }),
  },
  {
    cel: `self.type != 'user-email' || !self.name.startsWith('system:serviceaccount:') || self.name.matches(r"""${SERVICE_ACCOUNT}""")`,
    message: 'must be `system:serviceaccount:<namespace>:<name>`',
    holds: ({ type, name }) =>
      type !== 'user-email' || !name.startsWith('system:serviceaccount:') || matches(name, SERVICE_ACCOUNT),
  },
  {
    ...formOf('domain', DOMAIN, true),
    message: 'must be the part of e-mail addresses after the `@`, such as `example.com`',
    meant: ({ name }) => domainOf(name),
  },
  {
    cel: "self.type != 'group' || !self.name.startsWith('system:serviceaccount:')",
    message: 'is a user of Kubernetes and no group: use the type user-email',
    holds: ({ type, name }) => type !== 'group' || !name.startsWith('system:serviceaccount:'),
    meant: ({ name }) => ({ type: 'user-email', name }),
  },
  {
    cel: "self.type != 'group' || (self.name != 'system:unauthenticated' && self.name != 'system:anonymous')",
    message: 'means callers without a credential, who are refused whatever roles they have',
    holds: ({ type, name }) => type !== 'group' || !/^system:(?:unauthenticated|anonymous)$/.test(name),
  },
  {
    ...formOf('service-token', TOKEN_NAME, true),
    message: 'must be the access key or the name of a service token: lower-case letters, digits, `-` and `.`',
  },
  {
    ...formOf('service-token', BEARER_TOKEN, false),
    message: 'is a whole bearer token, a credential: use its access key, the part between the two `-`',
  },
];

/** The domain that a text contains, such as `@x.test` or `https://x.test/`. */
function domainOf(text: string): SubjectName | undefined {
  const name = /^(?:[a-z]+:\/\/)?(?:.*@)?\.?([^@/:]+?)\.?(?:[:/].*)?$/i.exec(text.trim())?.[1] ?? '';
  return matches(name, DOMAIN) ? { type: 'domain', name } : undefined;
}

/** The only address in a text. */
function addressIn(text: string): SubjectName | undefined {
  const decoded = text.replaceAll('%40', '@').replace(/^mailto:/i, '');
  const found = decoded.match(/[^\s,;<>"'`()]+@[^\s,;<>"'`()]+/g) ?? [];
  const name = found[0]?.replace(/\.$/, '');
  return found.length !== 1 || name === undefined || matches(name, NO_SINGLE_ADDRESS)
    ? undefined
    : { type: 'user-email', name };
}

/** Why no caller can be this subject, with the name that was probably meant; undefined if one can. A credential is not repeated. */
export function subjectProblem(subject: SubjectName): string | undefined {
  const broken = SUBJECT_RULES.find(({ holds }) => !holds(subject));
  if (broken === undefined) return undefined;
  const said = `${subject.type === 'service-token' ? 'the value' : quote(subject.name)} ${broken.message}`;
  const meant = broken.meant?.(subject);
  if (meant === undefined || meant.name === '' || SUBJECT_RULES.some(({ holds }) => !holds(meant))) return said;
  const type = meant.type === subject.type ? '' : ` with the type ${meant.type}`;
  return `${said}; did you mean \`${meant.name}\`${type}?`;
}
