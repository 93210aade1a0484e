import { readFileSync } from 'node:fs';
import { structuredPatch } from 'diff';
import { formatYaml, isObject, messageOf, parseYamlDocuments, stringifyJson, systemClock, UsageError } from '#base';
import type { Json, JsonObject } from '#base';
import { JqRunner } from '#controller';
import { diffObjects, JqAnswers, maskSecrets } from '#diff';
import type { DiffResult } from '#diff';
import { healthOf } from '#health';
import { groupOf } from '#model';
import type { KubeObject, Settings } from '#model';
import { printHelp, readArgs } from '../options/args.ts';
import type { CommandContext } from '../process/command.ts';
import { loadHealthScripts } from '../run/health-scripts.ts';
import { runOptions } from '../options/run-options.ts';
import { paint, table } from '../process/output.ts';
import type { CommandOutput, OutputColor } from '../process/output.ts';
import { yamlText } from '../process/structured.ts';
import { help, output, structuredOutput } from '../options/common-options.ts';
import { readSettings, settingsOptions } from './settings-source.ts';

const file = {
  flag: 'filename',
  short: 'f',
  kind: 'string',
  help: 'File that contains the objects; - reads standard input.',
} as const;

/** `driftless health -f FILE`: the health of each object, as the controller computes it. */
export async function health({ argv, env, output: to, signal }: CommandContext): Promise<number> {
  const options = { file, ...settingsOptions, healthScripts: runOptions.healthScripts, output, help };
  const { config } = readArgs(options, argv, env);
  if (config.help) return printHelp(to, 'usage: driftless health -f FILE [FLAGS]', options);
  if (config.file === '') throw new UsageError('health needs -f FILE (- for standard input)');
  const read = await readSettings(config, readOne, signal);
  const rules = { ...read, healthScripts: (await loadHealthScripts(config.healthScripts))(read.overrides) };
  const results = readObjects(config.file).map((object) => {
    const found = healthOf(object, rules);
    return {
      group: groupOf(object.apiVersion),
      kind: object.kind,
      namespace: object.metadata.namespace ?? '',
      name: object.metadata.name ?? '',
      status: found?.status ?? null,
      message: found?.message ?? '',
    };
  });
  if (config.output === 'json' || !to.color) for (const result of results) to.out(JSON.stringify(result));
  else {
    const rows = results.map((r) => [r.kind, r.namespace, r.name, r.status ?? '-', r.message]);
    for (const line of table(['kind', 'namespace', 'name', 'health', 'message'], rows)) to.out(line);
  }
  return 0;
}

/**
 * `driftless diff`: exit code 0 if equal, 1 if different, 2 on error, as kubectl diff. Values of
 * Secrets are masked; equal values get equal masks.
 */
export async function diff({ argv, env, output: to, signal }: CommandContext): Promise<number> {
  const options = {
    live: { flag: 'live', kind: 'string', help: 'File that contains the live object.' },
    target: { flag: 'target', kind: 'string', help: 'File that contains the target object.' },
    ...settingsOptions,
    jqTimeout: runOptions.jqTimeout,
    output: structuredOutput,
    help,
  } as const;
  const { config } = readArgs(options, argv, env);
  if (config.help) return printHelp(to, 'usage: driftless diff --live FILE --target FILE [FLAGS]', options);
  if (config.live === '' || config.target === '') throw new UsageError('diff needs --live FILE and --target FILE');
  const [live, target] = [readOne(config.live), readOne(config.target)];
  checkSameObject(live, target);
  const settings = await readSettings(config, readOne, signal);
  try {
    const jq = new JqRunner({ clock: systemClock }, { limitMs: config.jqTimeout });
    const result = await compared({ target, live }, settings, jq, signal).finally(() => jq.close());
    const shown = maskSecrets(result.predictedLive, result.normalizedLive, settings.sensitiveAnnotations);
    for (const line of diffOutput(result, shown, config.output, to)) to.out(line);
    return result.modified ? 1 : 0;
  } catch (error) {
    throw new UsageError(messageOf(error), { cause: error });
  }
}

/** A target may leave out the namespace of its destination, and have another version. */
function checkSameObject(live: KubeObject, target: KubeObject): void {
  const named = ({ apiVersion, kind, metadata: { namespace = '', name = '' } }: KubeObject): string =>
    `${[kind, groupOf(apiVersion)].filter((part) => part !== '').join('.')} ${namespace === '' ? '' : `${namespace}/`}${name}`;
  const [left, right] = [live.metadata.namespace, target.metadata.namespace];
  const isSamePlace = left === undefined || right === undefined || left === right;
  const isSame =
    live.kind === target.kind &&
    groupOf(live.apiVersion) === groupOf(target.apiVersion) &&
    (live.metadata.name ?? '') === (target.metadata.name ?? '');
  if (!isSame || !isSamePlace)
    throw new UsageError(`--live is ${named(live)}, and --target is another object: ${named(target)}`);
}

/** The difference for people, or with `-o json` both sides. */
function diffOutput(
  { modified, faults }: DiffResult,
  shown: ReturnType<typeof maskSecrets>,
  format: string,
  to: CommandOutput,
): readonly string[] {
  if (format !== '') {
    const said = { modified, normalizedLive: shown.live, predictedLive: shown.target };
    const result = (faults.length === 0 ? said : { ...said, faults }) as unknown as Json;
    return [format === 'yaml' ? yamlText(result) : stringifyJson(result)];
  }
  const lines = modified ? patchLines(formatYaml(shown.live as Json), formatYaml(shown.target as Json)) : [];
  return [
    ...(lines.length === 0 ? [] : [paint(to, 'bold', '--- live'), paint(to, 'bold', '+++ target')]),
    ...lines.map((line) => paintedLine(line, to)),
    ...faults.map(({ where, rule, problem }) => paint(to, 'yellow', `${where}: ${rule}: ${problem}`)),
  ];
}

/** The hunks of `diff -u`. */
function patchLines(live: string, target: string): readonly string[] {
  const patch = structuredPatch('', '', live, target, undefined, undefined, { context: 3, timeout: patchTimeoutMs });
  if (patch === undefined) return ['@@ too different to show line by line: -o json has both sides @@'];
  return patch.hunks.flatMap(({ oldStart, oldLines, newStart, newLines, lines }) => [
    `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`,
    ...lines,
  ]);
}

const patchTimeoutMs = 10_000;

function paintedLine(line: string, to: CommandOutput): string {
  const colors: Readonly<Record<string, OutputColor>> = { '-': 'red', '+': 'green', '@': 'blue' };
  const color = colors[line[0] ?? ''];
  const safe = line.replaceAll(controlCharacters, '\ufffd');
  return color === undefined ? safe : paint(to, color, safe);
}

/** Values of a manifest must not control the terminal. */
const controlCharacters = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/g;

/** Compares, and repeats with the results of jq while rules request more. */
async function compared(
  { target, live }: { readonly target: KubeObject; readonly live: KubeObject },
  settings: Settings,
  runner: JqRunner,
  signal: AbortSignal,
): Promise<DiffResult> {
  const jq = new JqAnswers();
  for (;;) {
    const result = diffObjects(target, live, { settings, ignoreDifferences: [], jq });
    if (jq.openQuestions().length === 0) return result;
    await runner.answer(jq, signal);
  }
}

/** Reads the objects of a YAML or JSON file and expands Lists. */
export function readObjects(path: string): KubeObject[] {
  let text: string;
  try {
    text = readFileSync(path === '-' ? 0 : path, 'utf8');
  } catch (error) {
    throw new UsageError(`cannot read ${path}: ${messageOf(error)}`, { cause: error });
  }
  return documents(path, text).flatMap((document, index) => unfold(document, `${path}, document ${index + 1}`));
}

function documents(path: string, text: string): Json[] {
  try {
    return parseYamlDocuments(text).filter((document) => document !== null);
  } catch (error) {
    throw new UsageError(`${path} is not valid YAML: ${messageOf(error)}`, { cause: error });
  }
}

function unfold(document: Json, where: string): KubeObject[] {
  if (!isObject(document)) throw new UsageError(`${where}: not a Kubernetes object`);
  const items = document['items'];
  if (Array.isArray(items) && typeof document['kind'] === 'string' && document['kind'].endsWith('List')) {
    return (items as readonly Json[]).flatMap((item, index) => unfold(item, `${where}, item ${index + 1}`));
  }
  return [checked(document, where)];
}

function checked(document: JsonObject, where: string): KubeObject {
  if (typeof document['apiVersion'] !== 'string' || typeof document['kind'] !== 'string') {
    throw new UsageError(`${where}: apiVersion and kind are required`);
  }
  return { ...document, metadata: isObject(document['metadata']) ? document['metadata'] : {} } as unknown as KubeObject;
}

function readOne(path: string): KubeObject {
  const [object, ...more] = readObjects(path);
  if (object === undefined || more.length > 0) throw new UsageError(`${path}: expected exactly one object`);
  return object;
}
