import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { formatYaml, own } from '#base';
import type { JsonObject } from '#base';
import { DesiredError, ToolFailed } from '../errors.ts';
import { checkOut } from '../fetch/checkout.ts';
import { secretsIn } from '../given-secrets.ts';
import { checkValues, plainVersion, selectChart } from './chart.ts';
import type { ChartDependency } from './chart.ts';
import { buildEnvironment, environmentKey, substitute } from './environment.ts';
import { buildDependencies, dependenciesKey } from './helm-dependencies.ts';
import type { KustomizeDeps } from './kustomize.ts';
import { listOf, textOf, wordsOf } from './options.ts';
import { objectsPrinted } from './output.ts';
import type { Job, Plan } from './plan.ts';
import { optionsHash } from './source-type.ts';
import type { Tool, ToolRun } from './tools.ts';
import { ValuesFiles } from './values.ts';
import type { ValuesFile } from './values.ts';

const missing =
  /found in Chart\.yaml, but missing in charts\/ directory|found in requirements\.yaml, but missing in charts/;

/** Everything that decides what helm is asked. */
interface Ask {
  readonly options: JsonObject;
  readonly flags: readonly string[];
  readonly valueFiles: readonly ValuesFile[];
  readonly fileParameters: readonly { readonly name: string; readonly file: ValuesFile }[];
  readonly values: JsonObject | string | undefined;
}

/**
 * How a chart is rendered: by `helm template`, over a checkout of the chart, of the charts that it names by path, and of its values files
 * (Argo CD: helmTemplate, util/helm). Dependencies that are missing are fetched when helm asks for them.
 * @throws ToolMissing, DesiredError, SourcePathError, SizeLimitExceeded
 */
export async function planHelm(job: Job, deps: KustomizeDeps, signal: AbortSignal): Promise<Plan> {
  const options = job.source.helm ?? {};
  const wanted = textOf(options, 'version');
  if (!['', 'v3', 'v4'].includes(wanted))
    throw new DesiredError('DESIRED_SOURCE', `helm version '${wanted}' is not supported`, { retry: 'never' });
  const files = new ValuesFiles(job);
  const { own: origin } = files;
  const dependencies = await selectChart(origin.snapshot, origin.selection, job.segments, signal);
  const ask: Ask = {
    options,
    flags: flagsOf(job, options),
    values: checkValues(options),
    valueFiles: await files.valueFiles(options, signal),
    fileParameters: await files.fileParameters(options, signal),
  };
  for (const { selection } of files.origins) selection.check(deps.limits);
  const tool = await deps.tools.find('helm', signal);
  return {
    key: [
      ...[job.segments, tool.version, ask.flags, optionsHash(job.source), environmentKey(job, options)],
      dependenciesKey(job, dependencies),
      ...files.origins.map(({ folder, snapshot, selection }) => [folder, snapshot.key, selection.key()]),
    ],
    render: (inner) =>
      deps.places.run(async (work) => {
        for (const { folder, snapshot, selection } of files.origins)
          await checkOut(snapshot, selection, join(work, folder), inner);
        const network = [...ask.valueFiles, ...ask.fileParameters.map(({ file }) => file)].some(
          ({ kind }) => kind === 'url',
        );
        const run: ToolRun = {
          work,
          cwd: join(work, 'repo', ...job.segments),
          network,
          secrets: () => secretsIn(job.source),
          signal: inner,
        };
        const output = await template(job, { ...deps, tool, run, dependencies }, await argumentsOf(job, ask, work));
        return objectsPrinted(output, 'helm', deps, inner);
      }),
  };
}

interface Templating extends KustomizeDeps {
  readonly tool: Tool;
  readonly run: ToolRun;
  readonly dependencies: readonly ChartDependency[];
}

async function template(job: Job, templating: Templating, args: readonly string[]): Promise<Uint8Array> {
  const { tools, tool, run } = templating;
  try {
    return await tools.run(tool, args, run);
  } catch (error) {
    if (!(error instanceof ToolFailed) || !missing.test(error.message)) throw error;
    await buildDependencies(job, templating);
    return tools.run(tool, args, run);
  }
}

/** The part of the command that does not depend on where files lie. `--flag=value` throughout: a value is never an option. */
function flagsOf(job: Job, options: JsonObject): string[] {
  const { request } = job;
  const kustomize = job.source.kustomize ?? {};
  const namespace = textOf(options, 'namespace') || textOf(kustomize, 'namespace') || request.namespace;
  const kubeVersion = plainVersion(
    textOf(options, 'kubeVersion') || textOf(kustomize, 'kubeVersion') || request.cluster.kubeVersion,
  );
  const own = wordsOf(options, 'apiVersions');
  const apiVersions = own.length > 0 ? own : request.cluster.apiVersions;
  return [
    `--name-template=${releaseName(job, options)}`,
    ...(namespace === '' ? [] : [`--namespace=${namespace}`]),
    ...(kubeVersion === '' ? [] : [`--kube-version=${kubeVersion}`]),
    ...apiVersions.map((version) => `--api-versions=${version}`),
    ...(isOn(options, 'skipCrds') ? [] : ['--include-crds']),
    ...(isOn(options, 'skipSchemaValidation') ? ['--skip-schema-validation'] : []),
    ...(isOn(options, 'skipTests') ? ['--skip-tests'] : []),
    ...parametersOf(job, options),
  ];
}

/** Of an application outside the controller's namespace, the name without the namespace (Argo CD: appReleaseName). */
function releaseName({ request }: Job, options: JsonObject): string {
  const { appName } = request;
  return textOf(options, 'releaseName') || appName.slice(appName.indexOf('_') + 1) || appName;
}

/** Of several parameters of one name, the last counts. */
function parametersOf(job: Job, options: JsonObject): string[] {
  const variables = buildEnvironment(job);
  const flags = new Map<string, string>();
  for (const parameter of listOf(options, 'parameters')) {
    const [name, value] = [textOf(parameter, 'name'), substitute(textOf(parameter, 'value'), variables)];
    flags.set(name, `--set${isOn(parameter, 'forceString') ? '-string' : ''}=${name}=${withoutCommas(value)}`);
  }
  return [...flags.values()];
}

/** A comma would begin the next parameter, except in a list in braces. */
function withoutCommas(value: string): string {
  if (value.startsWith('{') && value.endsWith('}')) return value;
  return value.replaceAll(/(^|[^\\]),/g, '$1\\,').replaceAll(/(^|[^\\]),/g, '$1\\,');
}

async function argumentsOf(job: Job, ask: Ask, work: string): Promise<string[]> {
  const variables = buildEnvironment(job);
  const place = (file: ValuesFile): string =>
    file.kind === 'url' ? substitute(file.url, variables) : join(work, file.origin.folder, ...file.segments);
  const args = ['template', '.', ...ask.flags];
  for (const { name, file } of ask.fileParameters) args.push(`--set-file=${name}=${withoutCommas(place(file))}`);
  for (const file of ask.valueFiles) args.push(`--values=${place(file)}`);
  if (ask.values !== undefined) {
    const path = join(work, 'values.yaml');
    await writeFile(path, typeof ask.values === 'string' ? ask.values : formatYaml(ask.values), {
      mode: 0o600,
      flag: 'wx',
    });
    args.push(`--values=${path}`);
  }
  return args;
}

function isOn(options: JsonObject, key: string): boolean {
  return own(options, key) === true;
}
