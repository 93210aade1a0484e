import { join } from 'node:path';
import { JsonSyntaxError, messageOf, parseJson, stringifyJson } from '#base';
import type { Json, JsonObject } from '#base';
import { DesiredError, ManifestError, SourcePathError, ToolFailed } from '../errors.ts';
import { checkOut } from '../fetch/checkout.ts';
import { Selection } from '../fetch/selection.ts';
import type { FileNode } from '../fetch/tree.ts';
import { secretsIn } from '../given-secrets.ts';
import type { ManifestFile } from './documents.ts';
import { buildEnvironment, environmentKey, substitute } from './environment.ts';
import { importsOf } from './jsonnet-imports.ts';
import type { KustomizeDeps } from './kustomize.ts';
import { listOf, textOf, wordsOf } from './options.ts';
import type { Job } from './plan.ts';
import type { Tool, ToolRun } from './tools.ts';

/** A Jsonnet file of a directory; `path` is relative to the application's directory. */
export interface JsonnetFile {
  readonly path: string;
  readonly file: FileNode;
}

export interface JsonnetPlan {
  readonly key: unknown;
  /** What each file evaluates to, by its path: its objects as JSON, one manifest file for each. */
  render(signal: AbortSignal): Promise<ReadonlyMap<string, readonly ManifestFile[]>>;
}

/**
 * How the Jsonnet files of a directory are evaluated: by the `jsonnet` program, each in a run of its own, over a checkout of nothing but these
 * files and what they import (Argo CD: makeJsonnetVm). An import is looked for beside the file that names it, then in `libs` from the last to
 * the first, then in the application's directory.
 *
 * Deliberate difference: what is imported must lie in the repository; in Argo CD it may lie anywhere on the repo-server's disk.
 * @throws ToolMissing, SourcePathError, DesiredError, SizeLimitExceeded
 */
export async function planJsonnet(
  job: Job,
  files: readonly JsonnetFile[],
  deps: KustomizeDeps,
  signal: AbortSignal,
): Promise<JsonnetPlan> {
  const tool = await deps.tools.find('jsonnet', signal);
  const options = job.source.directory?.jsonnet ?? {};
  const libraries = wordsOf(options, 'libs').map((lib) => inRepository([], lib, lib));
  const scope = { job, libraries: [job.segments, ...libraries], selection: new Selection(job.snapshot.tree) };
  const variables = variablesOf(job, options);
  for (const { path } of files) scope.selection.add([...job.segments, ...path.split('/')]);
  await selectImports(scope, files, variables, signal);
  scope.selection.check(deps.limits);
  return {
    key: [tool.version, scope.selection.key(), environmentKey(job, options)],
    render: (inner) =>
      deps.places.run(async (work) => {
        const root = join(work, 'repo');
        await checkOut(job.snapshot, scope.selection, root, inner);
        const paths = scope.libraries.flatMap((segments) => ['--jpath', join(root, ...segments)]);
        const secrets = (): readonly string[] => secretsIn(job.source);
        const run = { work, cwd: join(root, ...job.segments), secrets, signal: inner };
        const made = new Map<string, readonly ManifestFile[]>();
        for (const { path } of files) {
          const args = [...paths, ...variables.flatMap(({ flag, name, value }) => [flag, `${name}=${value}`]), '--'];
          const output = await evaluated({ ...deps, tool, run }, [...args, join(run.cwd, path)], shown(job, path));
          made.set(path, manifestsIn(output, shown(job, path)));
        }
        return made;
      }),
  };
}

interface Variable {
  readonly flag: string;
  readonly name: string;
  readonly value: string;
  readonly isCode: boolean;
}

/** External variables and top-level arguments. @throws DesiredError for a name that the program would cut in two */
function variablesOf(job: Job, options: JsonObject): readonly Variable[] {
  const environment = buildEnvironment(job);
  return (['extVars', 'tlas'] as const).flatMap((member) =>
    listOf(options, member).map((one): Variable => {
      const name = textOf(one, 'name');
      if (name === '' || name.includes('='))
        throw new DesiredError('DESIRED_SOURCE', `directory.jsonnet.${member}: the name "${name}" is refused`, {
          retry: 'never',
        });
      const isCode = textOf(one, 'code') === 'true';
      const flag = `--${member === 'tlas' ? 'tla' : 'ext'}-${isCode ? 'code' : 'str'}`;
      return { flag, name, value: substitute(textOf(one, 'value'), environment), isCode };
    }),
  );
}

interface Scope {
  readonly job: Job;
  /** Directories from the root: the application's, then the libraries. */
  readonly libraries: readonly (readonly string[])[];
  readonly selection: Selection;
}

/** Follows the imports of files, and of values that are code, which have the application's directory for theirs. */
async function selectImports(
  scope: Scope,
  files: readonly JsonnetFile[],
  variables: readonly Variable[],
  signal: AbortSignal,
): Promise<void> {
  const { snapshot, segments } = scope.job;
  const todo: { readonly at: readonly string[]; readonly file: FileNode }[] = files.map(({ path, file }) => ({
    at: [...segments, ...path.split('/')],
    file,
  }));
  const seen = new Set(todo.map(({ at }) => at.join('/')));
  const follow = (text: string, folder: readonly string[], name: string): void => {
    for (const { path, isCode } of importsOf(text, name)) {
      const found = importedBy(scope, folder, path, name);
      if (found === undefined || !isCode || seen.has(found.at.join('/'))) continue;
      seen.add(found.at.join('/'));
      todo.push(found);
    }
  };
  for (const { name, value, isCode } of variables) if (isCode) follow(value, segments, name);
  while (todo.length > 0) {
    const batch = todo.splice(0);
    const contents = await snapshot.read(
      batch.map(({ file }) => file),
      signal,
    );
    for (const { at, file } of batch)
      follow(Buffer.from(contents.get(file.oid) ?? []).toString('utf8'), at.slice(0, -1), at.join('/'));
    scope.selection.check({ maxCheckoutBytes: Number.MAX_SAFE_INTEGER, maxCheckoutFiles: 20_000 });
  }
}

/** The first place where the file is; undefined where it is nowhere, as the program then says best. */
function importedBy(
  { job, libraries, selection }: Scope,
  folder: readonly string[],
  path: string,
  by: string,
): { readonly at: readonly string[]; readonly file: FileNode } | undefined {
  if (path.startsWith('/') || path.includes('\0')) throw outside(by, path);
  for (const base of [folder, ...[...libraries].reverse()]) {
    const at = inRepository(base, path, `${by}: ${path}`);
    const found = job.snapshot.tree.lookup(at);
    if (found.kind === 'outside') throw outside(by, path);
    if (found.kind !== 'found' || found.node.kind !== 'file') continue;
    selection.add(at);
    return { at, file: found.node };
  }
  return undefined;
}

/** As text alone, links not looked at: so the program puts paths together. */
function inRepository(base: readonly string[], path: string, shownAs: string): readonly string[] {
  const clean = [...base];
  for (const segment of path.split('/')) {
    if (segment === '..' && clean.pop() === undefined)
      throw new SourcePathError(`file '${shownAs}' resolved to outside repository root`);
    if (segment !== '' && segment !== '.' && segment !== '..') clean.push(segment);
  }
  return clean;
}

function outside(by: string, path: string): SourcePathError {
  return new SourcePathError(`Failed to evaluate jsonnet "${by}": the import "${path}" leads out of the repository`);
}

interface Evaluation extends KustomizeDeps {
  readonly tool: Tool;
  readonly run: ToolRun;
}

async function evaluated({ tools, tool, run }: Evaluation, args: readonly string[], path: string): Promise<Uint8Array> {
  const result = await tools.result(tool, args, run);
  if (result.exitCode === 0) return result.stdout;
  throw new ToolFailed(`Failed to evaluate jsonnet "${path}": ${result.stderr}`);
}

/** An object, or a list of objects. @throws ManifestError */
function manifestsIn(output: Uint8Array, path: string): readonly ManifestFile[] {
  let value: Json;
  try {
    value = parseJson(Buffer.from(output).toString('utf8'));
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw new ManifestError(`Failed to unmarshal generated json "${path}": ${messageOf(error)}`, error);
  }
  const all = Array.isArray(value) ? (value as readonly Json[]) : [value];
  return all.map((one) => ({ path, name: 'generated.json', content: Buffer.from(stringifyJson(one)), strict: true }));
}

function shown({ segments }: Job, path: string): string {
  return [...segments, path].join('/');
}
