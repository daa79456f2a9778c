import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEngine } from '../../../src/pinot/connection.ts';
import type { Engine } from '../../../src/pinot/types.ts';
import { inlineCommands } from '../../support/documents/blocks.ts';
import { named, NO_CURL } from '../../support/documents/obstacle.ts';
import { blocksOf } from '../../support/documents/shell-blocks.ts';
import { DocumentShell, FAILING_CURL } from '../../support/documents/shell.ts';
import { HealthStates } from '../../support/health-states.ts';
import { TEST_LIMIT_MS } from '../../support/limits.ts';
import { startPinot, type Pinot } from '../../support/pinot.ts';

// Runs the commands of the runbooks against a real Pinot 0.11 with an offline table and an upsert table.
const OWN = 'test/integration/docs/runbook-commands.test.ts';
const RUNBOOKS = 'docs/checks/';
const ROWS = 10;

/** The words behind a command that only newer versions of Pinot answer. */
const NEWER = ' (not in Pinot 0.11)';
/** A command for a task of a minion, of which there is none. */
const OF_TASK = /\/TASK\//;
/** Commands whose finding is that they print nothing: equal states, and a table without this configuration. */
const MAY_BE_EMPTY = /idealstate > is\.json|\.instanceAssignmentConfigMap/;

const COMMANDS = [
  ...inlineCommands(/^(?:curl|for) /).filter(({ path }) => path.startsWith(RUNBOOKS)),
  ...blocksOf(OWN).map(({ path, text }) => ({ path, command: text, after: '' })),
].filter(({ command }) => !OF_TASK.test(command));
/** A call in a sentence, such as `POST /segments/TABLE_WITH_TYPE/reload`; the others are of the gateway, or of a server. */
const CALL = /^(GET|POST|PUT|DELETE) (\/(?!clusterHealth|instance\/)[^\s?]*)(?:\?(\S*))?$/;
const CALLS = inlineCommands(CALL).filter(({ path }) => path.startsWith(RUNBOOKS));
const isOfStream = (command: string): boolean => /consumingSegments|REALTIME|__PARTITION__|upsert/.test(command);

/** Of Pinot's Swagger document. */
type Paths = Record<string, Record<string, { readonly parameters?: readonly { in: string; name: string }[] }>>;

/** The query parameters of a call; undefined if there is none with this method and path. */
function parametersOf(paths: Paths, method: string, path: string): readonly string[] | undefined {
  const segments = path.split('/');
  const [, found] =
    Object.entries(paths).find(([template, operations]) => {
      const parts = template.replace(/\/$/, '').split('/');
      const fits = parts.every((part, index) => part.startsWith('{') || part === segments[index]);
      return operations[method] !== undefined && parts.length === segments.length && fits;
    }) ?? [];
  return found?.[method] && (found[method].parameters ?? []).filter((p) => p.in === 'query').map(({ name }) => name);
}

describe.skipIf(NO_CURL)(named('the commands of the runbooks', NO_CURL), () => {
  let pinot: Pinot;
  let engine: Engine;
  let shell: DocumentShell;
  let places: (command: string) => string;

  beforeAll(async () => {
    pinot = await startPinot({ tables: ['customers'] });
    engine = createEngine({ controllerUrls: [pinot.controllerUrl] });
    const states = new HealthStates(pinot, engine);
    const kafka = await pinot.startKafka();
    await pinot.createTopic('keys', 2);
    await states.streamTable('keys', kafka, { upsert: true });
    const rows = Array.from({ length: ROWS }, (_, n) => [`k${n}`, `{"pk": "k${n}", "ts": 1760000000}`] as const);
    await pinot.produce('keys', rows);
    await pinot.awaitRows('keys', ROWS);
    const { instances } = (await states.api('GET', '/instances')) as { instances: string[] };
    const { clusterName } = (await states.api('GET', '/cluster/info')) as { clusterName: string };
    const server = instances.find((name) => name.startsWith('Server_')) ?? '';
    const address = new URL(pinot.serverAdminUrls[0] ?? '').host;
    places = (command) => {
      const [table, type] = isOfStream(command) ? ['keys', 'REALTIME'] : ['customers', 'OFFLINE'];
      return command
        .replaceAll(/\b(?:SERVER|HOST):ADMIN_PORT\b/g, address)
        .replaceAll('BROKER:8099', new URL(pinot.brokerUrl).host)
        .replaceAll(/\bTABLE_(?:WITH_TYPE|REALTIME)\b/g, `${table}_${type}`)
        .replaceAll(/(?<!CONFIGS\/)\b(?:TABLE|SCHEMA)\b/g, table)
        .replaceAll(/\bTENANT\b/g, 'DefaultTenant')
        .replaceAll(/\bCLUSTER\b/g, clusterName)
        .replaceAll(/\bNAME\b/g, server)
        .replaceAll('__PARTITION__', '__0__');
    };
    shell = await DocumentShell.create({
      env: { CONTROLLER: pinot.controllerUrl },
      programs: { curl: FAILING_CURL },
    });
  }, TEST_LIMIT_MS);
  afterAll(async () => {
    await shell?.remove();
    await engine?.close();
    await pinot?.stop();
  });

  it('are many', () => {
    expect(COMMANDS.length).toBeGreaterThan(45);
  });

  it('and the calls in their sentences exist in Pinot 0.11, with these parameters', async () => {
    const answer = await fetch(`${pinot.controllerUrl}/swagger.json`);
    const { paths } = (await answer.json()) as { paths: Paths };
    const unknown = CALLS.filter(({ after }) => !after.startsWith(' (1.x)')).flatMap(({ path, command }) => {
      const [, method = '', place = '', query = ''] = CALL.exec(command) ?? [];
      const names = parametersOf(paths, method.toLowerCase(), place);
      const wrong = [...new URLSearchParams(query.replace('…', '')).keys()].filter(
        (name) => names?.includes(name) === false,
      );
      return names === undefined || wrong.length > 0 ? [`${path}: ${command} ${wrong.join(' ')}`] : [];
    });
    expect(unknown).toEqual([]);
    expect(CALLS.length).toBeGreaterThan(50);
  });

  it.each(COMMANDS)('$path: $command', async ({ command, after }) => {
    const { code, stdout, stderr } = await shell.run(places(command));
    const answered = code === 0 && (MAY_BE_EMPTY.test(command) || !/^(?:null\s*)?$/.test(stdout));
    expect([answered, stdout.slice(0, 500), stderr.slice(0, 500)]).toMatchObject({ 0: !after.startsWith(NEWER) });
  });
});
