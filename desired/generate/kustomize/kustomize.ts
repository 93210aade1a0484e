import { ownMember } from '#base';
import type { JsonObject } from '#base';
import { DesiredError, SourcePathError, ToolMissing, UnsupportedSource } from '../../errors.ts';
import { joinedFiles, unreadFiles } from '../../fetch/files/staged-files.ts';
import type { StagedFiles, UnreadFiles } from '../../fetch/files/staged-files.ts';
import { Selection } from '../../fetch/files/selection.ts';
import type { Snapshot } from '../../fetch/files/snapshot.ts';
import { hiddenTexts } from '../../given-secrets.ts';
import { checkoutFolder } from '../../render/types.ts';
import { buildEnvironment, environmentKey, substituteIn } from '../environment.ts';
import { DownloadedFiles } from '../downloaded-files.ts';
import { apiVersionsOf } from '../cluster-versions.ts';
import { checkSchemas } from '../helm/schemas.ts';
import { DownloadedCharts } from './downloaded-charts.ts';
import type { PulledChart } from './downloaded-charts.ts';
import { repositoryOf } from '../helm/repositories.ts';
import { kustomizationName, selectKustomization } from './kustomization.ts';
import { listOf, mapOf, textOf, wordsOf } from '../options.ts';
import { objectsPrinted } from '../output.ts';
import { isClimbing, remotePattern } from './overlay-scope.ts';
import { ReplacedFiles } from './replaced-files.ts';
import type { KustomizationScope } from './overlay-scope.ts';
import type { GeneratorDeps, RenderJob, RenderPlan } from '../plan.ts';
import { RemoteBases } from './remote-bases.ts';
import { optionsHash } from '../source-type.ts';
import type { InstalledTool, RenderTools, ToolStep } from '../tools.ts';

/**
 * Plans the rendering of an overlay: by kustomize itself, over a private copy of only the files
 * that the overlay needs. The options of the source become edits of its kustomization (Argo CD:
 * util/kustomize Build).
 * @throws ToolMissing, UnsupportedSource, SourcePathError, SizeLimitExceeded
 */
export async function planKustomize(job: RenderJob, deps: GeneratorDeps, signal: AbortSignal): Promise<RenderPlan> {
  const { request, segments, snapshot } = job;
  const options = job.source.kustomize ?? {};
  const buildOptions = readBuildOptions(request.options.kustomizeBuildOptions);
  const tool = await kustomizeOf(job, deps.tools, signal);
  const scope: KustomizationScope = {
    snapshot,
    selection: new Selection(snapshot.tree),
    helm: buildOptions.withHelm,
    withPlugins: buildOptions.withPlugins,
    isUnrestricted: buildOptions.isUnrestricted,
    folder: checkoutFolder,
    remotes: new RemoteBases(job.fetchRepository),
    charts: new DownloadedCharts((chart, inner) => downloadChart(job, chart, inner)),
    files: new DownloadedFiles(job, 'files of other servers', deps.limits),
    replaced: new ReplacedFiles(),
    named: new Set(),
    signal,
  };
  await selectAll(job, scope, options);
  scope.selection.check(deps.limits);
  scope.remotes.check(deps.limits);
  await scope.charts.download(scope.replaced, deps.limits, signal);
  const helm = buildOptions.withHelm ? await helmOptions(job, deps.tools, signal) : { args: [], key: null };
  const args = [...buildOptions.args, ...helm.args];
  return {
    key: [
      ...[
        scope.selection.key(),
        [...scope.remotes.key(), ...scope.charts.key()],
        segments,
        optionsHash(job.source),
        tool.version,
        tool.binary ?? '',
      ],
      ...[args, buildOptions.isUnrestricted, helm.key, environmentKey(job, options)],
      needsEnvironment(args) ? buildEnvironment(job) : null,
      // Rendering asks whether the project permits the files.
      scope.files.count > 0 ? (request.repositories.sourceRepos ?? null) : null,
    ],
    render: async (inner) => {
      const unread = await unreadOverlay(scope, inner);
      const input = {
        inputBytes: unread.bytes + scope.files.maxBytes,
        prepare: (work: AbortSignal) => scope.files.fetch(work),
        readInput: (work: AbortSignal) => readOverlay(job, { ...deps, scope, unread }, work),
      };
      const steps = stepsOf(job, { tool, scope, options, args });
      const share = { project: request.project, repository: job.repository.url };
      const results = await deps.tools
        .render({ ...input, steps, share, secrets: () => hiddenTexts(job) }, inner)
        .finally(() => scope.files.forget());
      return objectsPrinted(results.at(-1)?.stdout ?? new Uint8Array(), 'kustomize', deps, inner);
    },
  };
}

/** Selects the overlay with its patches, and the components that the source adds. */
async function selectAll(job: RenderJob, scope: KustomizationScope, options: JsonObject): Promise<void> {
  const patches = listOf(options, 'patches');
  if (patches.length > 0 && kustomizationName(job.snapshot, job.segments) === undefined)
    throw new DesiredError('DESIRED_SOURCE', 'kustomization file not found in the path');
  await selectKustomization(scope, job.segments, patches);
  for (const path of wordsOf(options, 'components')) {
    if (path.startsWith('/')) throw new SourcePathError(`the path "${path}" of a component is absolute`);
    if (remotePattern.test(path)) throw new UnsupportedSource(`a remote component ("${path}")`);
    // kustomize matches a pattern before it resolves "..".
    if (/[*?[\\].*\.\./s.test(path))
      throw new SourcePathError(`the pattern "${path}" of a component is refused: it has ".." after a wildcard`);
    const at = [...(scope.selection.realPath(job.segments) ?? job.segments), ...path.split('/')];
    if (isClimbing(at)) throw new SourcePathError(`the path "${path}" of a component leads out of the repository`);
    await selectKustomization(scope, at);
  }
}

async function unreadOverlay(scope: KustomizationScope, signal: AbortSignal): Promise<UnreadFiles> {
  const { snapshot, selection, folder, remotes, replaced } = scope;
  const own = await unreadFiles(snapshot, selection, folder, signal);
  return replaced.over(joinedFiles([own, ...(await remotes.unread(signal))]), signal);
}

/** Reads the files of the overlay, decrypted where a kustomization names them. */
async function readOverlay(
  { decryption, request }: RenderJob,
  { scope, unread, limits, unpacker }: OverlayInput,
  signal: AbortSignal,
): Promise<StagedFiles> {
  const { files, links } = await unread.read(signal);
  const all = [...files, ...scope.files.files];
  const staged = { files: await decryption.staged(all, scope, signal), links };
  if (scope.helm) await checkSchemas(staged, { limits, unpacker, owner: request.project, signal });
  return staged;
}

interface OverlayInput extends GeneratorDeps {
  readonly scope: KustomizationScope;
  readonly unread: UnreadFiles;
}

/** Downloads a chart with the credentials that the project has for its repository. */
async function downloadChart(
  job: RenderJob,
  { repo, name, version }: PulledChart,
  signal: AbortSignal,
): Promise<Snapshot> {
  const repository = repositoryOf(job, repo);
  if (repository === undefined) throw new UnsupportedSource(`the chart repository "${repo}"`);
  return job.downloadChart({ repository, chart: name, version }, signal);
}

interface BuildOptions {
  readonly args: readonly string[];
  readonly withHelm: boolean;
  readonly withPlugins: boolean;
  readonly isUnrestricted: boolean;
}

/**
 * Parses `kustomize.buildOptions`. kustomize itself is always restricted to the root of an overlay:
 * with `LoadRestrictionsNone`, files from elsewhere in the repository are copied there first.
 */
function readBuildOptions(text: string): BuildOptions {
  const joined = text.trim().replaceAll(/--load[-_]restrictor\s+/g, '--load-restrictor=');
  const words = joined.split(/\s+/).filter((word) => word !== '');
  const lifts = (word: string): boolean => /^--load[-_]restrictor=(?:LoadRestrictionsNone|none)$/.test(word);
  return {
    args: words.filter((word) => !lifts(word)),
    withHelm: hasSwitch(words, /^--enable-helm$/),
    withPlugins: hasSwitch(words, /^--enable[-_]alpha[-_]plugins$/),
    isUnrestricted: words.some(lifts),
  };
}

/** Go's boolean flags: `--flag`, or with a value that is not false. */
function hasSwitch(words: readonly string[], name: RegExp): boolean {
  return words.some((word) => {
    const [flag = '', value = 'true'] = word.split('=');
    return name.test(flag) && !/^(?:0|f|F|false|FALSE|False)$/.test(value);
  });
}

/** Reports whether the build needs the build environment: plugins can read it. */
function needsEnvironment(buildOptions: readonly string[]): boolean {
  return buildOptions.some((option) => option.includes('plugin') || option.includes('exec'));
}

/** @throws ToolMissing, also for a version that is not in argocd-cm */
async function kustomizeOf(job: RenderJob, tools: RenderTools, signal: AbortSignal): Promise<InstalledTool> {
  const version = textOf(job.source.kustomize ?? {}, 'version');
  if (version === '') return tools.find('kustomize', signal);
  const versions = job.request.options.kustomizeVersions;
  const path = Object.hasOwn(versions, version) ? versions[version] : undefined;
  if (path === undefined) throw new ToolMissing(`kustomize version ${version} is not registered`);
  return tools.find('kustomize', signal, path);
}

/** Options for charts that an overlay inflates. */
async function helmOptions(
  job: RenderJob,
  tools: RenderTools,
  signal: AbortSignal,
): Promise<{ readonly args: readonly string[]; readonly key: unknown }> {
  const helm = await tools.find('helm', signal);
  const options = job.source.kustomize ?? {};
  const { cluster } = job.request;
  const kubeVersion = textOf(options, 'kubeVersion') || cluster.kubeVersion;
  const apiVersions = apiVersionsOf(wordsOf(options, 'apiVersions'), cluster.apiVersions);
  const args = [
    ...(kubeVersion === '' ? [] : [`--helm-kube-version=${kubeVersion.replace(/^v/, '')}`]),
    ...apiVersions.map((version) => `--helm-api-versions=${version}`),
  ];
  return { args, key: [helm.version, args] };
}

interface KustomizeBuild {
  readonly tool: InstalledTool;
  readonly scope: KustomizationScope;
  readonly options: JsonObject;
  readonly args: readonly string[];
}

/**
 * The edits, in Argo CD's order because later edits see earlier ones, and then the build. As there,
 * the build runs from the root of the repository.
 */
function stepsOf(job: RenderJob, { tool, scope, options, args }: KustomizeBuild): readonly ToolStep[] {
  const here = scope.selection.realPath(job.segments) ?? job.segments;
  const cwd = [checkoutFolder, ...here].join('/');
  const env = buildEnvironment(job);
  const edits = editsOf(job, options).map((edit): ToolStep => ({ tool, args: ['edit', ...edit], cwd }));
  const all = wordsOf(options, 'components');
  const exists = (path: string): boolean =>
    kustomizationName(job.snapshot, [...job.segments, ...path.split('/')]) !== undefined;
  const components = ownMember(options, 'ignoreMissingComponents') === true ? all.filter(exists) : all;
  if (components.length > 0) edits.push({ tool, args: ['edit', 'add', 'component', '--', ...components], cwd, env });
  const build = ['build', here.length === 0 ? '.' : `./${here.join('/')}`, ...args];
  return [...edits, { tool, args: build, cwd: checkoutFolder, env, ...(scope.helm ? { withHelm: true } : {}) }];
}

/**
 * The options that `kustomize edit` supports. Everything after "--" is a value, even if it starts
 * with a dash.
 */
function editsOf(job: RenderJob, options: JsonObject): string[][] {
  const substitute = substituteIn(buildEnvironment(job));
  const edits: string[][] = [];
  const set = (what: string, values: readonly string[]): void => {
    if (values.length > 0) edits.push(['set', what, '--', ...values]);
  };
  const named = (key: string): readonly string[] => [textOf(options, key)].filter((text) => text !== '');
  const isOn = (key: string): boolean => ownMember(options, key) === true;
  const flags = (all: Readonly<Record<string, boolean>>): string[] => Object.keys(all).filter((flag) => all[flag]);
  set('nameprefix', named('namePrefix'));
  set('namesuffix', named('nameSuffix'));
  set(
    'image',
    wordsOf(options, 'images').map((image) => substitute(image)),
  );
  set(
    'replicas',
    listOf(options, 'replicas').map((replica) => `${textOf(replica, 'name')}=${countOf(replica)}`),
  );
  const labels = pairs(mapOf(options, 'commonLabels'), substitute);
  const labelFlags = flags({
    '--force': isOn('forceCommonLabels'),
    '--without-selector': isOn('labelWithoutSelector'),
    '--include-templates': isOn('labelIncludeTemplates'),
  });
  if (labels.length > 0) edits.push(['add', 'label', ...labelFlags, '--', ...labels]);
  const annotations = pairs(mapOf(options, 'commonAnnotations'), (value) =>
    isOn('commonAnnotationsEnvsubst') ? substitute(value) : value,
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

/** As Go reads a number: with a sign. The API server refuses a negative one. */
function countOf(replica: JsonObject): string {
  const text = textOf(replica, 'count');
  if (/^[+-]?\d+$/.test(text)) return text;
  throw new DesiredError('DESIRED_SOURCE', `expected integer value for count. Received: ${text}`, { retry: 'never' });
}
