import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { formatYaml, isObject, own } from '#base';
import type { Json, JsonObject } from '#base';
import { DesiredError, ToolMissing } from '../errors.ts';
import { checkOut } from '../fetch/checkout.ts';
import type { Workplaces } from '../fetch/checkout.ts';
import { Selection } from '../fetch/selection.ts';
import { secretsIn } from '../given-secrets.ts';
import type { DesiredLimits } from '../limits.ts';
import { buildEnvironment, environmentKey, substitute } from './environment.ts';
import { kustomizationName, selectKustomization } from './kustomization.ts';
import { listOf, mapOf, textOf, wordsOf } from './options.ts';
import { parseSmallYaml } from './manifest-reader.ts';
import type { ManifestReader } from './manifest-reader.ts';
import { objectsPrinted } from './output.ts';
import type { Job, Plan } from './plan.ts';
import { RemoteBases } from './remote-bases.ts';
import { optionsHash } from './source-type.ts';
import type { Tool, ToolRun, Tools } from './tools.ts';

export interface KustomizeDeps {
  readonly tools: Tools;
  readonly places: Workplaces;
  readonly limits: DesiredLimits;
  readonly reader: ManifestReader;
}

/**
 * How an overlay is rendered: by kustomize itself, over a checkout of what the overlay needs and nothing else, in which the options of the
 * source have become edits of its kustomization (Argo CD: util/kustomize Build). The checkout is this render's own.
 * @throws ToolMissing, UnsupportedSource, SourcePathError, SizeLimitExceeded
 */
export async function planKustomize(job: Job, deps: KustomizeDeps, signal: AbortSignal): Promise<Plan> {
  const { request, snapshot, segments } = job;
  const options = job.source.kustomize ?? {};
  const buildOptions = request.options.kustomizeBuildOptions.split(/\s+/).filter((word) => word !== '');
  const withHelm = buildOptions.includes('--enable-helm');
  const tool = await kustomizeOf(job, deps.tools, signal);
  const selection = new Selection(snapshot.tree);
  const remotes = new RemoteBases(job.remote);
  const scope = { snapshot, selection, helm: withHelm, folder: 'repo', remotes, signal };
  await selectKustomization(scope, segments);
  for (const path of [...wordsOf(options, 'components'), ...listOf(options, 'patches').map((p) => textOf(p, 'path'))])
    await selectKustomization(scope, [...segments, ...path.split('/')]);
  selection.check(deps.limits);
  remotes.check(deps.limits);
  const helm = withHelm ? await helmOptions(job, deps.tools, signal) : { args: [], key: null };
  return {
    key: [
      ...[selection.key(), remotes.key(), segments, optionsHash(job.source), tool.version, tool.path],
      ...[buildOptions, helm.key, environmentKey(job, options), needsAll(buildOptions) ? buildEnvironment(job) : null],
    ],
    render: (inner) =>
      deps.places.run(async (work) => {
        await checkOut(snapshot, selection, join(work, 'repo'), inner);
        await remotes.checkOut(work, inner);
        const at = join(work, 'repo', ...segments);
        const run: ToolRun = { work, cwd: at, secrets: () => secretsIn(job.source), signal: inner };
        await applyOptions(job, { ...deps, tool, at, run }, options);
        const output = await deps.tools.run(tool, ['build', at, ...buildOptions, ...helm.args], {
          ...run,
          cwd: join(work, 'repo'),
          env: buildEnvironment(job),
        });
        return objectsPrinted(output, 'kustomize', deps, inner);
      }),
  };
}

/** Plug-ins see the build environment. */
function needsAll(buildOptions: readonly string[]): boolean {
  return buildOptions.some((option) => option.includes('plugin') || option.includes('exec'));
}

/** @throws ToolMissing, also for a version that argocd-cm does not have */
async function kustomizeOf(job: Job, tools: Tools, signal: AbortSignal): Promise<Tool> {
  const version = textOf(job.source.kustomize ?? {}, 'version');
  if (version === '') return tools.find('kustomize', signal);
  const versions = job.request.options.kustomizeVersions;
  const path = Object.hasOwn(versions, version) ? versions[version] : undefined;
  if (path === undefined) throw new ToolMissing(`kustomize version ${version} is not registered`);
  return tools.find('kustomize', signal, path);
}

/** For charts that an overlay inflates. */
async function helmOptions(
  job: Job,
  tools: Tools,
  signal: AbortSignal,
): Promise<{ readonly args: readonly string[]; readonly key: unknown }> {
  const helm = await tools.find('helm', signal);
  const options = job.source.kustomize ?? {};
  const { cluster } = job.request;
  const kubeVersion = textOf(options, 'kubeVersion') || cluster.kubeVersion;
  const own = wordsOf(options, 'apiVersions');
  const apiVersions = own.length > 0 ? own : cluster.apiVersions;
  const args = [
    `--helm-command=${helm.path}`,
    ...(kubeVersion === '' ? [] : [`--helm-kube-version=${kubeVersion.replace(/^v/, '')}`]),
    ...apiVersions.map((version) => `--helm-api-versions=${version}`),
  ];
  return { args, key: [helm.version, args] };
}

interface Editing extends KustomizeDeps {
  readonly tool: Tool;
  /** The application's directory in the checkout. */
  readonly at: string;
  readonly run: ToolRun;
}

/** In the order of Argo CD: later edits see the earlier ones. */
async function applyOptions(job: Job, editing: Editing, options: JsonObject): Promise<void> {
  for (const args of editsOf(job, options)) await editing.tools.run(editing.tool, ['edit', ...args], editing.run);
  const patches = listOf(options, 'patches');
  if (patches.length > 0) await addPatches(job, editing.at, patches);
  const all = wordsOf(options, 'components');
  const components =
    own(options, 'ignoreMissingComponents') === true
      ? all.filter((path) => job.snapshot.tree.lookup([...job.segments, ...path.split('/')]).kind === 'found')
      : all;
  if (components.length === 0) return;
  const run = { ...editing.run, env: buildEnvironment(job) };
  await editing.tools.run(editing.tool, ['edit', 'add', 'component', '--', ...components], run);
}

/** The options that `kustomize edit` knows. Everything after "--" is a value, whatever it begins with. */
function editsOf(job: Job, options: JsonObject): string[][] {
  const variables = buildEnvironment(job);
  const edits: string[][] = [];
  const set = (what: string, values: readonly string[]): void => {
    if (values.length > 0) edits.push(['set', what, '--', ...values]);
  };
  const named = (key: string): readonly string[] => [textOf(options, key)].filter((text) => text !== '');
  const isOn = (key: string): boolean => own(options, key) === true;
  const flags = (all: Readonly<Record<string, boolean>>): string[] => Object.keys(all).filter((flag) => all[flag]);
  set('nameprefix', named('namePrefix'));
  set('namesuffix', named('nameSuffix'));
  set(
    'image',
    wordsOf(options, 'images').map((image) => substitute(image, variables)),
  );
  set(
    'replicas',
    listOf(options, 'replicas').map((replica) => `${textOf(replica, 'name')}=${countOf(replica)}`),
  );
  const labels = pairs(mapOf(options, 'commonLabels'), (value) => substitute(value, variables));
  const labelFlags = flags({
    '--force': isOn('forceCommonLabels'),
    '--without-selector': isOn('labelWithoutSelector'),
    '--include-templates': isOn('labelIncludeTemplates'),
  });
  if (labels.length > 0) edits.push(['add', 'label', ...labelFlags, '--', ...labels]);
  const annotations = pairs(mapOf(options, 'commonAnnotations'), (value) =>
    isOn('commonAnnotationsEnvsubst') ? substitute(value, variables) : value,
  );
  const annotationFlags = flags({ '--force': isOn('forceCommonAnnotations') });
  if (annotations.length > 0) edits.push(['add', 'annotation', ...annotationFlags, '--', ...annotations]);
  set('namespace', named('namespace'));
  return edits;
}

function pairs(map: Readonly<Record<string, string>>, value: (text: string) => string): string[] {
  return Object.keys(map)
    .sort()
    .map((key) => `${key}:${value(map[key] ?? '')}`);
}

function countOf(replica: JsonObject): string {
  const text = textOf(replica, 'count');
  if (/^\d+$/.test(text)) return text;
  throw new DesiredError('DESIRED_SOURCE', `expected integer value for count. Received: ${text}`, { retry: 'never' });
}

async function addPatches(job: Job, at: string, patches: readonly JsonObject[]): Promise<void> {
  const name = kustomizationName(job.snapshot, job.segments);
  if (name === undefined) throw new DesiredError('DESIRED_SOURCE', 'kustomization file not found in the path');
  const file = join(at, name);
  const [value] = parseSmallYaml(await readFile(file, 'utf8'));
  const kustomization = value !== undefined && isObject(value) ? value : {};
  const before: Json = own(kustomization, 'patches') ?? [];
  if (!Array.isArray(before))
    throw new DesiredError('DESIRED_SOURCE', `${name}: its patches are not a list`, { retry: 'never' });
  await writeFile(file, formatYaml({ ...kustomization, patches: [...(before as readonly Json[]), ...patches] }));
}
