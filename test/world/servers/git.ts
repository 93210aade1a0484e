import { DriftlessError, untilAborted } from '#base';
import type { Clock } from '#base';
import type { DesiredSource, SourceManifests } from '#desired';
import type { KubeObject } from '#model';
import type { FaultCounts } from '../faults.ts';

/** One commit of an Application's repository. */
export interface Commit {
  readonly sha: string;
  readonly at: number;
  /** By kind and name. */
  readonly objects: ReadonlyMap<string, KubeObject>;
}

export type GitFault = 'fails' | 'hangs' | 'slow';

const timeoutMs = 60_000;

/** One repository for each Application, with the history of its branch. */
export class WorldGit {
  readonly #now: () => number;
  readonly #counts: FaultCounts;
  readonly #commits = new Map<string, Commit>();
  readonly #branches = new Map<string, Commit[]>();
  /** Commits that replicas have rendered, by index: on their disks, which outlive processes. */
  readonly #mirrors = new Map<number, Set<string>>();
  #fault: { readonly what: GitFault; readonly until: number } | undefined;
  /** When the last read that hangs has ended, by a clock of any speed. */
  hangsUntil = 0;

  constructor(now: () => number, counts: FaultCounts) {
    this.#now = now;
    this.#counts = counts;
  }

  commit(app: string, objects: Iterable<KubeObject>): Commit {
    const branch = this.#branches.get(app) ?? [];
    const text = `${app}-${this.#commits.size}`;
    const sha = Buffer.from(text).toString('hex').padEnd(40, '0');
    const commit = { sha, at: this.#now(), objects: new Map([...objects].map((o) => [nameOf(o), o])) };
    this.#commits.set(sha, commit);
    this.#branches.set(app, [...branch, commit]);
    return commit;
  }

  /** The commits that the branch has pointed at, the newest last. */
  branch(app: string): readonly Commit[] {
    return this.#branches.get(app) ?? [];
  }

  head(app: string): Commit {
    const commit = this.branch(app).at(-1);
    if (commit === undefined) throw new Error(`${app} has no commits`);
    return commit;
  }

  get(sha: string): Commit | undefined {
    return this.#commits.get(sha);
  }

  disturb(what: GitFault, ms: number): void {
    this.#fault = { what, until: this.#now() + ms };
  }

  calm(): void {
    this.#fault = undefined;
  }

  /** The repositories as a process of this replica reads them. */
  source(clock: Clock, replica: number): DesiredSource {
    const mirror = this.#mirrors.get(replica) ?? new Set<string>();
    this.#mirrors.set(replica, mirror);
    const resolve = (url: string, revision: string): Commit =>
      this.#commits.get(revision) ?? this.head(url.slice(url.lastIndexOf('/') + 1));
    return {
      name: 'desired',
      run: (signal) => untilAborted(signal),
      resolve: async ({ source, revision }, _policy, signal) => {
        if (!mirror.has(revision)) await this.#suffer(clock, signal);
        return resolve(source.repoURL, revision).sha;
      },
      manifests: async (request, signal) => {
        if (!request.sources.every(({ revision }) => mirror.has(revision))) await this.#suffer(clock, signal);
        const sources = request.sources.map(({ source, revision }): SourceManifests => {
          const { sha, objects } = resolve(source.repoURL, revision);
          mirror.add(sha);
          return { objects: [...objects.values()], revision: sha, sourceType: 'Directory' };
        });
        return { sources };
      },
    };
  }

  async #suffer(clock: Clock, signal: AbortSignal): Promise<void> {
    const fault = this.#fault;
    if (fault === undefined || fault.until <= this.#now()) return;
    this.#counts.add(`git: ${fault.what}`);
    if (fault.what === 'fails') throw new DriftlessError('DESIRED_TEST', 'the repository does not answer');
    if (fault.what === 'hangs') this.hangsUntil = this.#now() + 1.05 * timeoutMs;
    await clock.sleep(fault.what === 'slow' ? 3000 : timeoutMs, signal);
    if (fault.what === 'hangs') throw new DriftlessError('DESIRED_TEST', 'the repository did not answer in time');
  }
}

export function nameOf({ kind, metadata }: KubeObject): string {
  return `${kind} ${metadata.name ?? ''}`;
}
