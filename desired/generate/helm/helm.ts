import { formatYaml, outsideText, ownMember } from '#base';
import type { JsonObject } from '#base';
import { DesiredError, ToolFailed, UnsafeInput } from '../../errors.ts';
import { inMemory, joinedFiles, unreadFiles } from '../../fetch/files/staged-files.ts';
import type { UnreadFiles } from '../../fetch/files/staged-files.ts';
import { hiddenTexts } from '../../given-secrets.ts';
import type { DesiredLimits } from '../../limits.ts';
import { checkoutFolder } from '../../render/types.ts';
import type { RenderFile, RenderLink } from '../../render/types.ts';
import { apiVersionsOf, plainVersion } from '../cluster-versions.ts';
import { checkValues, selectChart } from './chart.ts';
import type { ChartDependency } from './chart.ts';
import { environmentKey } from '../environment.ts';
import { buildDependencies } from './dependencies.ts';
import { DownloadedFiles } from '../downloaded-files.ts';
import { fileParameterArgument, parameterArguments, parametersFolder } from './parameters.ts';
import { dependenciesKey } from './repositories.ts';
import { checkSchemas } from './schemas.ts';
import { textOf, wordsOf } from '../options.ts';
import { objectsPrinted } from '../output.ts';
import type { GeneratorDeps, RenderJob, RenderPlan } from '../plan.ts';
import { optionsHash } from '../source-type.ts';
import type { InstalledTool, ToolRequest } from '../tools.ts';
import { ValuesFiles } from './values-files.ts';
import type { ValuesOrigin, ValuesFile } from './values-files.ts';

const missingDependency =
  /found in Chart\.yaml, but missing in charts\/ directory|found in requirements\.yaml, but missing in charts/;

/**
 * Values files get generated names in the staging folder, because helm splits `--values` at commas.
 */
const valuesFolder = 'values';
const inlineValues = 'values.yaml';

/** The inputs of helm besides its chart. */
interface HelmInput {
  readonly options: JsonObject;
  readonly flags: readonly string[];
  readonly valueFiles: readonly ValuesFile[];
  readonly fileParameters: readonly { readonly name: string; readonly file: ValuesFile }[];
  readonly values: JsonObject | string | undefined;
  readonly origins: readonly ValuesOrigin[];
  /** The chart's folder in the staging folder, with links resolved. */
  readonly folder: string;
}

/**
 * Plans `helm template` over the files of the chart, of the charts that it names by path, and of
 * its values files (Argo CD: helmTemplate, util/helm). Missing dependencies are downloaded once
 * helm reports them missing.
 * @throws ToolMissing, DesiredError, SourcePathError, SizeLimitExceeded
 */
export async function planHelm(job: RenderJob, deps: GeneratorDeps, signal: AbortSignal): Promise<RenderPlan> {
  const options = job.source.helm ?? {};
  const wanted = textOf(options, 'version');
  if (!['', 'v3', 'v4'].includes(wanted))
    throw new DesiredError('DESIRED_SOURCE', `helm version '${wanted}' is not supported`, { retry: 'never' });
  const files = new ValuesFiles(job);
  const { own: origin } = files;
  const dependencies = await selectChart(origin.snapshot, origin.selection, job.segments, signal);
  const input: HelmInput = {
    options,
    flags: flagsOf(job, options),
    values: checkValues(options),
    valueFiles: await files.valueFiles(options, signal),
    fileParameters: await files.fileParameters(options, signal),
    origins: files.origins,
    folder: [checkoutFolder, ...(origin.selection.realPath(job.segments) ?? job.segments)].join('/'),
  };
  for (const { selection } of files.origins) selection.check(deps.limits);
  const tool = await deps.tools.find('helm', signal);
  return {
    key: [
      ...[job.segments, tool.version, input.flags, optionsHash(job.source), environmentKey(job, options)],
      dependenciesKey(job, dependencies),
      permissionsKey(job, input, dependencies),
      ...files.origins.map(({ folder, snapshot, selection }) => [folder, snapshot.key, selection.key()]),
    ],
    render: async (inner) => {
      const given = await givenFiles(job, input, deps.limits, inner);
      return objectsPrinted(await template(job, { ...deps, ...input, ...given, tool }, inner), 'helm', deps, inner);
    },
  };
}

/**
 * The sourceRepos of the project, for a chart that downloads something: rendering checks them, and
 * manifests cached for one project must not be returned to another that may not read their files.
 */
function permissionsKey(
  job: RenderJob,
  input: HelmInput,
  dependencies: readonly ChartDependency[],
): readonly string[] | null {
  const hasUrls = [...input.valueFiles, ...input.fileParameters.map(({ file }) => file)].some(
    ({ kind }) => kind === 'url',
  );
  return hasUrls || dependencies.length > 0 ? (job.request.repositories.sourceRepos ?? null) : null;
}

/** Files of the staging folder, and the arguments that name them. */
interface GivenFiles {
  readonly unread: UnreadFiles;
  /** Values files by URL, which are downloaded first. */
  readonly downloads: DownloadedFiles;
  readonly args: readonly string[];
  /** The author's name for each file, by the generated name that helm prints. */
  readonly shownNames: ReadonlyMap<string, string>;
  /** The files that options name, which are decrypted: any other file of a chart is not. */
  readonly named: ReadonlySet<string>;
}

async function givenFiles(
  job: RenderJob,
  input: HelmInput,
  limits: DesiredLimits,
  signal: AbortSignal,
): Promise<GivenFiles> {
  const { options, folder, origins, valueFiles, fileParameters, values } = input;
  const sources = await Promise.all(
    origins.map((origin) => unreadFiles(origin.snapshot, origin.selection, origin.folder, signal)),
  );
  const downloads = new DownloadedFiles(job, 'values files', limits);
  const files: RenderFile[] = [];
  const links: RenderLink[] = [];
  const up = '../'.repeat(folder.split('/').length);
  const shownNames = new Map<string, string>();
  // helm always reads the chart's own values.
  const named = new Set(
    origins.slice(0, 1).map((own) => stagedPath({ origin: own, segments: [...job.segments, 'values.yaml'] })),
  );
  const place = (file: ValuesFile, path: string, isValues = true): string => {
    // Without decryption, a template may still embed an encrypted file.
    if (isValues || job.request.decryption !== undefined) named.add(file.kind === 'url' ? path : stagedPath(file));
    shownNames.set(`${up}${path}`, shownName(file));
    if (file.kind === 'url') downloads.add(path, file.url);
    else links.push({ path, target: ['..', file.origin.folder, ...file.segments].join('/') });
    return `${up}${path}`;
  };
  const parameters = parameterArguments(job, options, up);
  files.push(...parameters.files);
  const args = [...parameters.args];
  for (const [i, { name, file }] of fileParameters.entries())
    args.push(fileParameterArgument(name, place(file, `${parametersFolder}/file-${i}`, false)));
  for (const [i, file] of valueFiles.entries()) args.push(`--values=${place(file, `${valuesFolder}/${i}.yaml`)}`);
  if (values !== undefined) {
    files.push({ path: inlineValues, content: Buffer.from(typeof values === 'string' ? values : formatYaml(values)) });
    shownNames.set(`${up}${inlineValues}`, inlineValues);
    args.push(`--values=${up}${inlineValues}`);
  }
  return { unread: joinedFiles([...sources, inMemory({ files, links })]), downloads, args, shownNames, named };
}

/** Where the file is in the staging folder, with links resolved. */
function stagedPath({ origin, segments }: Omit<ValuesFile & { readonly kind: 'file' }, 'kind'>): string {
  return [origin.folder, ...(origin.selection.realPath(segments) ?? segments)].join('/');
}

function shownName(file: ValuesFile): string {
  return file.kind === 'url' ? outsideText('url', file.url) : file.segments.join('/');
}

interface HelmTemplateRun extends GeneratorDeps, HelmInput, GivenFiles {
  readonly tool: InstalledTool;
}

async function template(job: RenderJob, templating: HelmTemplateRun, signal: AbortSignal): Promise<Uint8Array> {
  const { folder, limits, unread } = templating;
  try {
    return await runTemplate(job, templating, signal);
  } catch (error) {
    if (!(error instanceof ToolFailed) || !missingDependency.test(error.message)) throw error;
    const built = await buildDependencies(job, folder, limits, signal);
    const isKept = ({ path }: { readonly path: string }): boolean => !built.isOutdated(path);
    const kept: UnreadFiles = {
      bytes: unread.bytes,
      read: async (inner) => {
        const { files, links } = await unread.read(inner);
        return { files: files.filter(isKept), links: links.filter(isKept) };
      },
    };
    return runTemplate(job, { ...templating, unread: joinedFiles([kept, built.unread]) }, signal);
  }
}

async function runTemplate(job: RenderJob, templating: HelmTemplateRun, signal: AbortSignal): Promise<Uint8Array> {
  const { tools, tool, folder, flags, args, unread, downloads, shownNames, named } = templating;
  const request: ToolRequest = {
    inputBytes: unread.bytes + downloads.maxBytes,
    prepare: (inner) => downloads.fetch(inner),
    readInput: async (inner) => {
      const { files, links } = await unread.read(inner);
      const all = [...files, ...downloads.files];
      const staged = { files: await job.decryption.staged(all, { named, isRequired: true }, inner), links };
      if (isOn(templating.options, 'skipSchemaValidation')) return staged;
      const { limits, unpacker } = templating;
      await checkSchemas(staged, { limits, unpacker, owner: job.request.project, signal: inner });
      return staged;
    },
    steps: [{ tool, args: ['template', '.', ...flags, ...args], cwd: folder }],
    share: { project: job.request.project, repository: job.repository.url },
    secrets: () => hiddenTexts(job),
  };
  try {
    const [result] = await tools.render(request, signal);
    return result?.stdout ?? new Uint8Array();
  } catch (error) {
    if (!(error instanceof ToolFailed)) throw error;
    throw new ToolFailed(withShownNames(error.message, shownNames));
  } finally {
    downloads.forget();
  }
}

/**
 * Replaces generated names by those that the author knows. Longer names first: one may be a prefix
 * of another.
 */
function withShownNames(message: string, names: ReadonlyMap<string, string>): string {
  const longestFirst = [...names].sort(([a], [b]) => b.length - a.length);
  return longestFirst.reduce((text, [name, shown]) => text.replaceAll(name, () => shown), message);
}

/**
 * The arguments that do not depend on files. Always `--flag=value`, so that a value is never parsed
 * as an option.
 */
function flagsOf(job: RenderJob, options: JsonObject): string[] {
  const { request } = job;
  const kustomize = job.source.kustomize ?? {};
  const namespace = textOf(options, 'namespace') || textOf(kustomize, 'namespace') || request.namespace;
  const kubeVersion = plainVersion(
    textOf(options, 'kubeVersion') || textOf(kustomize, 'kubeVersion') || request.cluster.kubeVersion,
  );
  return [
    `--name-template=${releaseName(job, options)}`,
    ...(namespace === '' ? [] : [`--namespace=${namespace}`]),
    ...(kubeVersion === '' ? [] : [`--kube-version=${kubeVersion}`]),
    ...apiVersionsOf(wordsOf(options, 'apiVersions'), request.cluster.apiVersions).map(
      (version) => `--api-versions=${version}`,
    ),
    ...(isOn(options, 'skipCrds') ? [] : ['--include-crds']),
    ...(isOn(options, 'skipSchemaValidation') ? ['--skip-schema-validation'] : []),
    ...(isOn(options, 'skipTests') ? ['--skip-tests'] : []),
  ];
}

/**
 * For an application outside the controller's namespace, the name without the namespace (Argo CD:
 * appReleaseName). Helm evaluates the name as a template, which could read helm's environment.
 * @throws UnsafeInput for a template
 */
function releaseName({ request }: RenderJob, options: JsonObject): string {
  const { appName } = request;
  const name = textOf(options, 'releaseName') || appName.slice(appName.indexOf('_') + 1) || appName;
  if (!name.includes('{{')) return name;
  throw new UnsafeInput(`the release name ${JSON.stringify(name)} is refused: it must not be a template`);
}

function isOn(options: JsonObject, key: string): boolean {
  return ownMember(options, key) === true;
}
