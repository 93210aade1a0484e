import { JsonSyntaxError, messageOf, parseJson, stringifyJson } from '#base';
import type { Json, JsonObject } from '#base';
import { DecryptionFailed, DesiredError, ManifestError, SourcePathError, ToolFailed } from '../../errors.ts';
import { unreadFiles } from '../../fetch/files/staged-files.ts';
import { Selection } from '../../fetch/files/selection.ts';
import type { FileNode } from '../../fetch/files/tree.ts';
import { hiddenTexts } from '../../given-secrets.ts';
import { checkoutFolder } from '../../render/types.ts';
import type { RenderFile } from '../../render/types.ts';
import type { ManifestFile } from '../documents.ts';
import { buildEnvironment, environmentKey, substituteIn } from '../environment.ts';
import { importsOf } from './jsonnet-imports.ts';
import { withFiles } from '../held-files.ts';
import { listOf, textOf, wordsOf } from '../options.ts';
import type { GeneratorDeps, RenderJob } from '../plan.ts';
import type { InstalledTool, ToolStep } from '../tools.ts';

/** A Jsonnet file of a directory; `path` is relative to the application's directory. */
export interface JsonnetFile {
  readonly path: string;
  readonly file: FileNode;
}

export interface JsonnetPlan {
  readonly key: unknown;
  /** The objects of each file, by its path: one JSON manifest file per object. */
  render(signal: AbortSignal): Promise<ReadonlyMap<string, readonly ManifestFile[]>>;
}

/**
 * Plans the evaluation of a directory's Jsonnet files. The `jsonnet` program runs once per file,
 * over a checkout of only these files and their imports (Argo CD: makeJsonnetVm). It searches an
 * import beside the importing file, then in `libs` from last to first, then in the application's
 * directory.
 *
 * Deliberate difference: an import must lie in the repository; in Argo CD it may lie anywhere on
 * the repo-server's disk.
 * @throws ToolMissing, SourcePathError, DesiredError, SizeLimitExceeded
 */
export async function planJsonnet(
  job: RenderJob,
  files: readonly JsonnetFile[],
  deps: GeneratorDeps,
  signal: AbortSignal,
): Promise<JsonnetPlan> {
  const tool = await deps.tools.find('jsonnet', signal);
  const options = job.source.directory?.jsonnet ?? {};
  const libraries = wordsOf(options, 'libs').map((lib) => inRepository([], lib, lib));
  const selection = new Selection(job.snapshot.tree);
  const scope = { job, libraries: [job.segments, ...libraries], selection, programs: new Set<string>() };
  const variables = variablesOf(job, options);
  for (const { path } of files) scope.selection.add([...job.segments, ...path.split('/')]);
  await selectImports({ ...deps, ...scope, files, variables }, signal);
  scope.selection.check(deps.limits);
  return {
    key: [tool.version, scope.selection.key(), environmentKey(job, options)],
    render: (inner) => evaluateFiles({ ...deps, job, files, scope, variables, tool }, inner),
  };
}

interface JsonnetVariable {
  readonly flag: string;
  readonly name: string;
  readonly value: string;
  readonly isCode: boolean;
}

/**
 * External variables and top-level arguments.
 * @throws DesiredError for a name that the program would split, or parse as an option
 */
function variablesOf(job: RenderJob, options: JsonObject): readonly JsonnetVariable[] {
  const substitute = substituteIn(buildEnvironment(job));
  return (['extVars', 'tlas'] as const).flatMap((member) =>
    listOf(options, member).map((one): JsonnetVariable => {
      const name = textOf(one, 'name');
      if (name === '' || name.includes('=') || name.startsWith('-') || name.includes('\0'))
        throw new DesiredError('DESIRED_SOURCE', `directory.jsonnet.${member}: the name "${name}" is refused`, {
          retry: 'never',
        });
      const isCode = textOf(one, 'code') === 'true';
      const flag = `--${member === 'tlas' ? 'tla' : 'ext'}-${isCode ? 'code' : 'str'}`;
      return { flag, name, value: substitute(textOf(one, 'value')), isCode };
    }),
  );
}

interface JsonnetScope {
  readonly job: RenderJob;
  /** Directories from the root: the application's first, then the libraries. */
  readonly libraries: readonly (readonly string[])[];
  readonly selection: Selection;
  /** The staged files that the interpreter evaluates, and whose imports are known therefore. */
  readonly programs: Set<string>;
}

interface ImportSearch extends JsonnetScope, Pick<GeneratorDeps, 'inputs' | 'limits'> {
  readonly files: readonly JsonnetFile[];
  readonly variables: readonly JsonnetVariable[];
}

/**
 * Follows the imports of files, and of variables that are code. Those resolve from the
 * application's directory.
 */
async function selectImports(scope: ImportSearch, signal: AbortSignal): Promise<void> {
  const { job, inputs, files, variables, limits } = scope;
  const { segments } = job;
  const todo: { readonly at: readonly string[]; readonly file: FileNode }[] = files.map(({ path, file }) => ({
    at: [...segments, ...path.split('/')],
    file,
  }));
  const seen = new Set(todo.map(({ at }) => at.join('/')));
  const follow = (text: string, folder: readonly string[], name: string): void => {
    for (const { path, isCode } of importsOf(text, name)) {
      const found = resolveImport(scope, folder, path, name);
      if (found === undefined || !isCode || seen.has(found.at.join('/'))) continue;
      seen.add(found.at.join('/'));
      todo.push(found);
    }
  };
  for (const { name, value, isCode } of variables) if (isCode) follow(value, segments, name);
  while (todo.length > 0) {
    const batch = todo.splice(0);
    await withFiles({ job, inputs, nodes: batch.map(({ file }) => file) }, signal, (contents) => {
      for (const { at, file } of batch) {
        scope.programs.add([checkoutFolder, ...(scope.selection.realPath(at) ?? at)].join('/'));
        follow(Buffer.from(contents.get(file.oid) ?? []).toString('utf8'), at.slice(0, -1), at.join('/'));
      }
    });
    scope.selection.check(limits);
  }
}

/**
 * Finds an import in the first directory that has it. Undefined if none does: the program then
 * reports it best.
 */
function resolveImport(
  { job, libraries, selection }: JsonnetScope,
  folder: readonly string[],
  path: string,
  by: string,
): { readonly at: readonly string[]; readonly file: FileNode } | undefined {
  if (path.startsWith('/') || path.includes('\0')) throw outside(by, path);
  for (const base of [folder, ...[...libraries].reverse()]) {
    const at = inRepository(base, path, `${by}: ${path}`);
    const found = job.snapshot.tree.lookup(at);
    // The operating system follows links before it applies "..".
    const followed = job.snapshot.tree.lookup(path.split('/'), base);
    if (found.kind === 'outside' || followed.kind === 'outside') throw outside(by, path);
    if (found.kind !== 'found' || found.node.kind !== 'file') continue;
    selection.add(at);
    return { at, file: found.node };
  }
  return undefined;
}

/** Joins paths textually, without resolving links, because the program does the same. */
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

interface JsonnetEvaluation extends GeneratorDeps {
  readonly job: RenderJob;
  readonly files: readonly JsonnetFile[];
  readonly scope: JsonnetScope;
  readonly variables: readonly JsonnetVariable[];
  readonly tool: InstalledTool;
}

/** Runs the program once per file, in one request. */
async function evaluateFiles(
  evaluation: JsonnetEvaluation,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, readonly ManifestFile[]>> {
  const { job, files, scope, tools } = evaluation;
  const unread = await unreadFiles(job.snapshot, scope.selection, checkoutFolder, signal);
  const results = await tools.results(
    {
      inputBytes: unread.bytes,
      readInput: async (work) => {
        const { files: all, links } = await unread.read(work);
        const staged = await job.decryption.staged(all, {}, work);
        for (const [i, file] of staged.entries()) if (file.content !== all[i]?.content) refuseImports(file, scope);
        return { files: staged, links };
      },
      steps: stepsOf(evaluation),
      share: { project: job.request.project, repository: job.repository.url },
      secrets: () => hiddenTexts(job),
    },
    signal,
  );
  const made = new Map<string, readonly ManifestFile[]>();
  for (const [i, { path }] of files.entries()) {
    const name = shown(job, path);
    const result = results[i];
    if (result === undefined) throw new ToolFailed(`Failed to evaluate jsonnet "${name}": it was not evaluated`);
    if (result.exitCode !== 0) throw new ToolFailed(`Failed to evaluate jsonnet "${name}": ${result.stderr}`);
    made.set(path, manifestsIn(result.stdout, name));
  }
  return made;
}

/** The imports of a decrypted program were not known when files were selected. */
function refuseImports({ path, content }: RenderFile, { programs }: JsonnetScope): void {
  const name = path.slice(checkoutFolder.length + 1);
  if (programs.has(path) && importsOf(Buffer.from(content).toString('utf8'), name).length > 0)
    throw new DecryptionFailed(
      `${name} is encrypted by SOPS and imports other files, which is refused: encrypt only the values that it imports`,
    );
}

/**
 * Paths start with "./" or "../", and names of variables never with a dash, so the program cannot
 * parse any of them as an option.
 */
function stepsOf({ job, files, scope, variables, tool }: JsonnetEvaluation): readonly ToolStep[] {
  const here = scope.selection.realPath(job.segments) ?? job.segments;
  const up = here.map(() => '../').join('') || './';
  const paths = scope.libraries.flatMap((segments, i) => ['--jpath', i === 0 ? './' : `${up}${segments.join('/')}`]);
  const args = [...paths, ...variables.flatMap(({ flag, name, value }) => [flag, `${name}=${value}`]), '--'];
  const cwd = [checkoutFolder, ...here].join('/');
  return files.map(({ path }) => ({ tool, args: [...args, `./${path}`], cwd }));
}

/** The output must be an object or a list of objects. @throws ManifestError */
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

function shown({ segments }: RenderJob, path: string): string {
  return [...segments, path].join('/');
}
