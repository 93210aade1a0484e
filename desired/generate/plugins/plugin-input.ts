import { SourcePathError } from '../../errors.ts';
import { Selection } from '../../fetch/files/selection.ts';
import { bytesToRead } from '../../fetch/files/snapshot.ts';
import type { GitFolder } from '../../fetch/files/snapshot.ts';
import { packSelection } from '../../fetch/files/tar.ts';
import type { InputBudget } from '../../inputs/input-budget.ts';
import type { DesiredLimits } from '../../limits.ts';
import { compilePathGlob } from '../path-glob.ts';
import type { RenderJob } from '../plan.ts';
import type { PluginInput } from './plugin-client.ts';

export interface PluginInputsDeps {
  readonly limits: DesiredLimits;
  readonly inputs: InputBudget;
  /** Globs on paths from the root of what is sent. */
  readonly exclusions: readonly string[];
  /** Send only the part of the repository that `manifest-generate-paths` needs. */
  readonly usesGeneratePaths: boolean;
}

/** Whether a plugin decides that it supports a source (all files), or renders it. */
export type InputPurpose = 'match' | 'generate';

export interface InputOrder {
  readonly purpose: InputPurpose;
  readonly env: Readonly<Record<string, string>>;
}

/** Packs the files of a source for plugins, within the memory for held files. */
export class PluginInputs {
  readonly #deps: PluginInputsDeps;
  readonly #excludesGit: boolean;
  readonly #excluded: readonly ((path: string) => boolean)[];

  constructor(deps: PluginInputsDeps) {
    this.#deps = deps;
    this.#excluded = deps.exclusions.map(compilePathGlob);
    this.#excludesGit = gitParts.some((path) => this.#isExcluded(path));
  }

  /** The directory that a plugin gets for rendering: its segments from the root. */
  rootOf({ request, segments }: RenderJob): readonly string[] {
    const { watched } = request;
    const { usesGeneratePaths } = this.#deps;
    return usesGeneratePaths && watched !== undefined ? generateRoot(segments, watched.annotation) : [];
  }

  /**
   * Packs the files once there is memory for them. They count as held until `body` ends.
   * @throws SourcePathError, SizeLimitExceeded
   */
  async run<T>(
    job: RenderJob,
    { purpose, env }: InputOrder,
    signal: AbortSignal,
    body: (input: PluginInput) => Promise<T>,
  ): Promise<T> {
    const { snapshot, request } = job;
    const root = purpose === 'match' ? [] : this.rootOf(job);
    const { selection, nameOf } = this.#select(job, root);
    const appRelPath = clean(job.segments).slice(root.length).join('/') || '.';
    const bytes = await bytesToRead(snapshot, [...selection.files.values()], signal);
    const hold = (folder?: GitFolder): Promise<T> =>
      this.#deps.inputs.run({ project: request.project, bytes: bytes + (folder?.bytes ?? 0) }, signal, async () => {
        const packed = await packSelection(snapshot, selection, signal, { nameOf, gitFolder: folder?.path });
        return body({ appName: request.appName, appRelPath, env, packed });
      });
    // A part of the repository has no .git, as in Argo CD.
    if (root.length > 0 || this.#excludesGit || snapshot.withGitFolder === undefined) return hold();
    return snapshot.withGitFolder(signal, hold);
  }

  /** Selects the files below the root, and their paths from it. */
  #select({ snapshot }: RenderJob, root: readonly string[]): SelectedInput {
    const real = new Selection(snapshot.tree).realPath(root) ?? [];
    const within = new Selection(snapshot.tree);
    within.add(real);
    const prefix = real.length === 0 ? '' : `${real.join('/')}/`;
    for (const entries of [within.files, within.links])
      for (const path of entries.keys()) {
        if (!path.startsWith(prefix)) throw leadsOut(path, prefix);
        if (isInGitFolder(path) && snapshot.withGitFolder !== undefined) throw hasGitFolder(path);
        if (this.#isExcluded(path.slice(prefix.length))) entries.delete(path);
      }
    within.check(this.#deps.limits);
    return { selection: within, nameOf: (path) => path.slice(prefix.length) };
  }

  /** A pattern that matches a folder excludes everything in it. */
  #isExcluded(path: string): boolean {
    const segments = path.split('/');
    return segments.some((_, i) => this.#excluded.some((matches) => matches(segments.slice(0, i + 1).join('/'))));
  }
}

interface SelectedInput {
  readonly selection: Selection;
  /** The path in the archive of a path in the repository. */
  readonly nameOf: (path: string) => string;
}

/**
 * The lowest directory with the application and every path of the annotation (Argo CD:
 * getApplicationRootPath). Paths with a leading slash begin at the root of the repository, others
 * at the application.
 */
export function generateRoot(application: readonly string[], annotation: string): readonly string[] {
  let root = clean(application);
  for (const path of annotation.split(';').map((text) => text.trim())) {
    if (path === '') continue;
    const segments = clean(path.startsWith('/') ? path.split('/') : [...application, ...path.split('/')]);
    const differs = root.findIndex((segment, i) => segment !== segments[i]);
    if (differs >= 0) root = root.slice(0, differs);
  }
  return root;
}

/** Removes `.` and resolves `..`, which does not leave the root. */
function clean(segments: readonly string[]): readonly string[] {
  const result: string[] = [];
  for (const segment of segments)
    if (segment === '..') result.pop();
    else if (segment !== '' && segment !== '.') result.push(segment);
  return result;
}

/** Without one of these, git does not read the directory: then nothing of it is sent. */
const gitParts = ['.git', '.git/HEAD', '.git/config', '.git/objects/pack', '.git/refs', '.git/index', '.git/shallow'];

/** git refuses to check out such a path, in any letter case. */
function isInGitFolder(path: string): boolean {
  return path.split('/').some((segment) => segment.toLowerCase() === '.git');
}

function hasGitFolder(path: string): SourcePathError {
  return new SourcePathError(`${path}: a repository must not contain a path named .git`);
}

function leadsOut(path: string, prefix: string): SourcePathError {
  return new SourcePathError(
    `${path}: a link in ${prefix} leads to it, but manifest-generate-paths does not name it, so plugins do not get it`,
  );
}
