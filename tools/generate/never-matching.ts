import { stringify } from 'yaml';
import {
  isOnlyOnAllNames,
  kindBit,
  KINDS_WITH_ACTIONS,
  kindsIn,
  kindsOfActions,
  rareKindsOfActions,
  type KindBits,
} from '../../src/access/policy/action-kinds.ts';
import { ACTIONS } from '../../src/access/policy/actions.ts';
import { OUTER_KINDS, SRN_KINDS } from '../../src/access/policy/srn.ts';
import {
  actionElsewhere,
  actionWithoutName,
  exampleAction,
  examplesOf,
  hint,
  impossibleLevels,
  neverMatches,
  NO_ACTIONS,
  RARE,
  resourceElsewhere,
  WHY,
  wordsOf,
} from '../../src/access/policy/unmatchable-texts.ts';
import { NAME_MAX_LENGTH, NAME_PATTERN } from '../../src/resources/meta.ts';
import type { GeneratedFiles } from './generator.ts';

// What of a policy never matches, as CEL: the rules and texts of `unmatchable()`, without the name that was probably meant where it would have
// to be searched for. Sets of kinds are texts with a letter for each kind.

const NAME = 'olap-warden-never-matches';

const HEADER = `# Generated from src/access/policy/ by \`make generate\`; do not edit.
# Warns of actions and resources of a policy that nothing ever matches, with the texts of the REST API. The policy is written all the same, because
# its other statements may be right; the condition Warning of its status has these texts, too, and the names that were probably meant. Not examined
# are statements with a pattern in place of a kind (\`srn2:tab*#x\`). The API server bounds the cost of an expression; a policy that
# reaches it, such as one with thousands of resources, gets no warning.
`;

/** A letter for each kind; `n` marks a resource that is all service tokens. */
const LETTERS = Object.fromEntries(KINDS_WITH_ACTIONS.map((kind, at) => [kind, 'tcrps'[at]!]));
const ALL_TOKENS = 'n';

const quoted = (text: string): string => JSON.stringify(text);
const letters = (bits: KindBits): string =>
  kindsIn(bits)
    .map((kind) => LETTERS[kind])
    .join('');

/** Stands for the expressions that a text is put together from. */
const MARK = '\u0001';

/** A text of `unmatchable()` over expressions. */
function textOf(text: (...parts: string[]) => string, ...expressions: string[]): string {
  const pieces = text(...expressions.map((_, at) => `${MARK}${at}${MARK}`)).split(MARK);
  return pieces
    .map((piece, at) => (at % 2 === 0 ? quoted(piece) : expressions[Number(piece)]!))
    .filter((piece) => piece !== '""')
    .join(' + ');
}

/** The place of a set of kinds in `words` and `examples`. */
const indexOf = (set: string): string =>
  KINDS_WITH_ACTIONS.map((kind) => `(${set}.contains('${LETTERS[kind]}') ? ${kindBit(kind)} : 0)`).join(' + ');
const inCommon = (a: string, b: string): string => `variables.letters.exists(k, ${a}.contains(k) && ${b}.contains(k))`;
const words = (set: string): string => `variables.words[${indexOf(set)}]`;
const examples = (set: string): string => `variables.examples[${indexOf(set)}]`;

/** The actions that exist on the same kinds, and for which the same rare calls ask. */
function classes(): object[] {
  const found = new Map<string, string[]>();
  for (const action of ACTIONS) {
    const usual = kindsOfActions(action);
    const [allow, deny] = (['allow', 'deny'] as const).map((effect) => usual | rareKindsOfActions(action, effect));
    const unnamed = isOnlyOnAllNames(action) ? 'true' : '';
    const key = JSON.stringify({ usual: letters(usual), allow: letters(allow!), deny: letters(deny!), unnamed });
    found.set(key, [...(found.get(key) ?? []), action.toLowerCase()]);
  }
  return [...found].map(([key, names]) => ({ ...(JSON.parse(key) as object), names: ` ${names.join('  ')} ` }));
}

const subsets = Array.from({ length: 1 << KINDS_WITH_ACTIONS.length }, (_, bits) => bits);

/** A level of one of the kinds, or of a star for it. */
const level = (kinds: readonly string[], id = '[^:]*'): string => `(?:${kinds.join('|')}|[*]+)#${id}`;
/** A resource of the kind: with levels around it in their order, each of which may be left out. */
const placed = (kind: keyof typeof OUTER_KINDS, id?: string): string =>
  `${OUTER_KINDS[kind].map((outer) => `(?:${level([outer])}:)?`).join('')}${level([kind], id)}`;
const matches = (resource: string, pattern: string): string => `${resource}.matches(r'^(?:[*]|srn2:${pattern})$')`;

/** Whether every kind of a resource is a known one or a star, and all of it is visible. */
const IS_PLAIN = `r.matches(r'^(?:[*]|srn2:${level(SRN_KINDS, '[^#:\\pC]+')}(?::${level(SRN_KINDS, '[^#:\\pC]+')})*)$')`;

const KINDS_OF = [
  ...KINDS_WITH_ACTIONS.map((kind) => `(${matches('r', placed(kind))} ? '${LETTERS[kind]}' : '')`),
  `(${matches('r', placed('service-token', '[*]+'))} ? '${ALL_TOKENS}' : '')`,
].join(' + ');

const ID = "r.substring(r.lastIndexOf('#') + 1)";
const UP_TO_ID = "r.substring(0, r.lastIndexOf('#') + 1)";
const never = (why: string, meant?: string): string => {
  const text = textOf((resource) => neverMatches(resource, why), 'r');
  if (meant === undefined) return text;
  return `${text} + (${meant} == '' ? '' : ${textOf(hint, `${UP_TO_ID} + ${meant}`)})`;
};

/** Why no resource can have the name `r`; empty if one can. */
function problemOfPattern(): string {
  const lastKind = "r.split(':')[r.split(':').size() - 1].split('#')[0]";
  const isPossible = matches('r', `(?:${SRN_KINDS.map((kind) => placed(kind)).join('|')})`);
  const levels = SRN_KINDS.map((kind) => `${quoted(kind)}: ${quoted(impossibleLevels(kind))}`).join(', ');
  const why = `{${levels}}[?(${lastKind})].orValue(${quoted(impossibleLevels('*'))})`;
  const ofTable = `r.matches(r'[:]table#[^:]*$')`;
  const ofName = `r.matches(r'[:](?:role|policy|service-token)#[^:]*$')`;
  const cases: readonly (readonly [condition: string, problem: string])[] = [
    ["r == '*'", "''"],
    ["r.contains('${')", never(WHY.variable)],
    [`!${isPossible}`, textOf(neverMatches, 'r', why)],
    [
      `${ofTable} && ${ID}.matches(r"""["'\`]""")`,
      never(WHY.quoted, `${ID}.replace('"', '').replace("'", '').replace('\`', '')`),
    ],
    [`${ofTable} && ${ID}.matches('[,;]')`, never(WHY.listed)],
    [
      `${ofTable} && ${ID}.matches('_(?:OFFLINE|REALTIME)$')`,
      never(WHY.typed, `${ID}.substring(0, ${ID}.lastIndexOf('_'))`),
    ],
    [
      `${ofTable} && ${ID}.matches('^(?i:default)[.]')`,
      never(WHY.defaultDatabase, `${ID}.substring(${'default.'.length})`),
    ],
    [`${ofName} && ${ID}.replace('*', '').size() > ${NAME_MAX_LENGTH}`, never(WHY.tooLong)],
    [`${ofName} && !${ID}.replace('*', 'x').matches(r'${NAME_PATTERN}')`, never(WHY.noName)],
  ];
  return `${cases.map(([condition, problem]) => `${condition} ? ${problem} : `).join('\n')}''`;
}

/** The action `a` of the entry `e`. */
function problemOfAction(): string {
  const elsewhere = textOf(actionElsewhere, 'a.text', words('a.usual'), words('e.named'), examples('a.usual'));
  return `!${inCommon('a.asked', 'e.named')} ? ${elsewhere} :
a.unnamed && !e.named.contains('${ALL_TOKENS}') ? ${textOf(actionWithoutName, 'a.text')} : ''`;
}

function rareAction(): string {
  const [onCluster, denied, asked] = (['cluster', 'deny', 'allow'] as const).map((key) =>
    textOf(RARE[key], 'a.text', examples('a.usual')),
  );
  return `e.named.contains('${LETTERS['cluster']}') ? ${onCluster} : e.effect == 'deny' ? ${denied} : ${asked}`;
}

/** The resource `o`, on which none of the actions exists. */
function problemOfResource(): string {
  const example = `[${subsets.map((bits) => quoted(bits === 0 ? '' : exampleAction(kindsIn(bits)[0]!))).join(', ')}][${indexOf('o.kinds')}]`;
  return `o.kinds != '' ? ${textOf(resourceElsewhere, 'o.text', words('o.kinds'), example)} :
o.text.matches('^srn2:environment#[^:]*$') ? ${textOf(NO_ACTIONS.environment, 'o.text')} : ${textOf(NO_ACTIONS.other, 'o.text')}`;
}

/** Actions and resources of the statements whose kinds can be read, with the kinds on which requests ask for them. */
const READ = `object.spec.statements.filter(s, s.resources.all(r, ${IS_PLAIN})).map(s, {
"at": dyn('statements[' + string(object.spec.statements.indexOf(s)) + ']'),
"effect": dyn(s.effect),
"resources": dyn(s.resources.map(r, {
"path": '.resources[' + string(s.resources.indexOf(r)) + ']',
"text": string(r),
"kinds": ${KINDS_OF},
"problem": ${problemOfPattern()}})),
"actions": dyn((has(s.actions) ? s.actions : ['*']).map(a, [variables.classes.filter(c,
a.contains('*') ? c.names.matches(' ' + a.lowerAscii().replace('*', '[a-z]*') + ' ') : c.names.contains(' ' + a.lowerAscii() + ' '))].map(m, {
"path": dyn('.actions[' + (has(s.actions) ? string(s.actions.indexOf(a)) : '0') + ']'),
"text": dyn(string(a)),
"exists": dyn(m.size() > 0),
"unnamed": dyn(m.all(c, c.unnamed == 'true')),
"usual": dyn(m.map(c, c.usual).join('')),
"asked": dyn(m.map(c, s.effect == 'deny' ? c.deny : c.allow).join(''))})[0]))})`;

/** With the kinds of the possible resources, and those on which something asks for an action. */
const STATEMENTS = `variables.read.map(e, {
"at": e.at, "effect": e.effect, "resources": e.resources, "actions": e.actions,
"named": dyn(e.resources.filter(o, o.problem == '').map(o, o.kinds).join('')),
"asked": dyn(e.actions.map(a, a.asked).join('')),
"exist": dyn(e.actions.all(a, a.exists))})`;

const said = (path: string, text: string): string => `'\`' + ${path} + '\`: ' + (${text})`;

/** What never matches, first, and then what matches few, both in the order of the statements. */
const FOUND = `variables.statements.map(e,
(e.resources.filter(o, o.problem != '').map(o, ${said('e.at + o.path', 'o.problem')}) +
(e.named == '' ? e.resources.filter(o, o.problem == '').map(o, ${said('e.at + o.path', problemOfResource())}) :
!e.exist ? e.actions.filter(a, !a.exists).map(a, ${said('e.at + a.path', "'`' + a.text + '` matches no action'")}) :
[e.actions.map(a, {"at": a.path, "text": dyn(${problemOfAction()})}).filter(p, p.text != '')].map(p, p.size() > 0 ?
p.map(q, ${said('e.at + q.at', 'q.text')}) :
e.resources.filter(o, o.problem == '' && !${inCommon('o.kinds', 'e.asked')}).map(o, ${said('e.at + o.path', problemOfResource())}))[0])).join('; ')
).filter(t, t != '')`;

const RARELY = `variables.statements.filter(e, e.named != '' && e.exist).map(e,
e.actions.filter(a, ${inCommon('a.asked', 'e.named')} && !${inCommon('a.usual', 'e.named')} && !(a.unnamed && !e.named.contains('${ALL_TOKENS}')))
.map(a, ${said('e.at + a.path', rareAction())}).join('; ')).filter(t, t != '')`;

const LABELS = { 'app.kubernetes.io/part-of': 'olap-warden' };
const API = 'admissionregistration.k8s.io/v1';

function policy(): object {
  return {
    apiVersion: API,
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: NAME, labels: LABELS },
    spec: {
      failurePolicy: 'Ignore',
      matchConstraints: {
        resourceRules: [
          {
            apiGroups: ['olapwarden.io'],
            apiVersions: ['*'],
            operations: ['CREATE', 'UPDATE'],
            resources: ['policies'],
          },
        ],
      },
      matchConditions: [
        {
          name: 'not-olap-warden-itself',
          expression:
            "!(request.userInfo.username in ['system:serviceaccount:' + request.namespace + ':olap-warden-operator', 'system:serviceaccount:' + request.namespace + ':olap-warden-gateway'])",
        },
        {
          name: 'statements-change',
          expression: 'oldObject == null || object.spec.statements != oldObject.spec.statements',
        },
      ],
      variables: [
        { name: 'letters', expression: `[${KINDS_WITH_ACTIONS.map((kind) => `'${LETTERS[kind]}'`).join(', ')}]` },
        { name: 'words', expression: JSON.stringify(subsets.map(wordsOf)) },
        { name: 'examples', expression: JSON.stringify(subsets.map(examplesOf)) },
        { name: 'classes', expression: JSON.stringify(classes()) },
        { name: 'read', expression: READ },
        { name: 'statements', expression: STATEMENTS },
        { name: 'found', expression: `${FOUND} + ${RARELY}` },
      ],
      validations: [
        {
          expression: 'variables.found.size() == 0',
          message: 'parts of the policy never match: the condition Warning of its status names them',
          messageExpression: "variables.found.join('; ')",
        },
      ],
    },
  };
}

function binding(): object {
  return {
    apiVersion: API,
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: NAME, labels: LABELS },
    spec: { policyName: NAME, validationActions: ['Warn'] },
  };
}

/** Generates manifests/admission/never-matches.yaml. */
export function generateNeverMatching(): GeneratedFiles {
  const options = { lineWidth: 120, aliasDuplicateObjects: false };
  const objects = [policy(), binding()].map((object) => stringify(object, options));
  return new Map([['manifests/admission/never-matches.yaml', HEADER + objects.join('---\n')]]);
}
