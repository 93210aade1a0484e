import { mkdirSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '#base';
import type { JsonObject } from '#base';
import { startGitServer } from '#sim';
import type { GitServer } from '#sim';
import { ServedRepository } from '../../e2e/argo-cli/repository.ts';
import { temporaryFolder } from '../../e2e/support/index.ts';
import { projects } from './projects.ts';
import { applicationsPath, projectsPath, WorldSide } from './side.ts';

/** An act without visible effect for so long has none, with nothing left to do. */
const quietMs = 1500;
/** The same while an operation runs or a deletion waits, perhaps for ever. */
const waitingMs = 8000;
const settleLimitMs = 90_000;
const pollMs = 150;

/** How many times slower everything is than on a machine that has nothing else to do. */
export function slowness(): number {
  return Math.max(1, (loadavg()[0] ?? 0) / availableParallelism() / 2);
}

/** Argo CD's controller and ours, each on its own API server, with one Git server. */
export class WorldPair {
  readonly argo: WorldSide;
  readonly ours: WorldSide;
  readonly #git: GitServer;
  readonly #folder: { readonly path: string; remove: () => void };
  #plays = 0;

  private constructor(parts: {
    readonly argo: WorldSide;
    readonly ours: WorldSide;
    readonly git: GitServer;
    readonly folder: { readonly path: string; remove: () => void };
  }) {
    this.argo = parts.argo;
    this.ours = parts.ours;
    this.#git = parts.git;
    this.#folder = parts.folder;
  }

  static async start(): Promise<WorldPair> {
    const folder = temporaryFolder('differential');
    const root = join(folder.path, 'repositories');
    mkdirSync(root);
    const git = await startGitServer(root);
    const ends: (() => Promise<void>)[] = [() => git.close()];
    try {
      // One after the other: on a busy machine the start of an API server takes a minute.
      const argo = await WorldSide.start('argo_cd');
      ends.push(() => argo.close());
      const ours = await WorldSide.start('ours');
      ends.push(() => ours.close());
      const pair = new WorldPair({ argo, ours, git, folder });
      await pair.each(({ api }) => Promise.all(projects.map((project) => api.create(projectsPath, project))));
      return pair;
    } catch (error) {
      for (const end of ends.reverse()) await end();
      folder.remove();
      throw error;
    }
  }

  get plays(): number {
    return this.#plays;
  }

  get sides(): readonly [argo: WorldSide, ours: WorldSide] {
    return [this.argo, this.ours];
  }

  /** Does the same on both sides at the same time. */
  async each<T>(act: (side: WorldSide) => Promise<T>): Promise<readonly [argo: T, ours: T]> {
    return Promise.all([act(this.argo), act(this.ours)]);
  }

  /** A prefix for the names of another play, and its repository. */
  begin(): { readonly prefix: string; readonly repository: ServedRepository; readonly url: string } {
    this.#plays += 1;
    const prefix = `p${this.#plays}`;
    const repository = new ServedRepository(
      join(this.#folder.path, 'repositories'),
      join(this.#folder.path, 'trees'),
      prefix,
    );
    return { prefix, repository, url: `${this.#git.url}/${prefix}.git` };
  }

  /** Waits until neither side changes an Application any more. */
  async settle(): Promise<void> {
    const begin = systemClock.monotonic();
    for (;;) {
      const passed = systemClock.monotonic() - begin;
      const isQuiet = (side: WorldSide): boolean =>
        Math.min(passed, side.quietMs()) >= slowness() * (side.isBusy() ? waitingMs : quietMs);
      if (this.sides.every(isQuiet) || passed > slowness() * settleLimitMs) break;
      await systemClock.sleep(pollMs);
    }
    for (const side of this.sides) side.acceptBusy();
  }

  /** Removes the Applications of a play, then its namespaces with all objects. */
  async end(namespaces: readonly string[]): Promise<void> {
    await this.each(async ({ api, applications }) => {
      for (const [name, { metadata }] of applications.states) {
        if (metadata.finalizers !== undefined)
          await api.exchange({
            method: 'PATCH',
            path: `${applicationsPath}/${name}`,
            body: { metadata: { finalizers: null } } satisfies JsonObject,
            contentType: 'application/merge-patch+json',
          });
        await api.delete(`${applicationsPath}/${name}`);
      }
      for (const namespace of namespaces) await api.delete(`/api/v1/namespaces/${namespace}`);
    });
    await this.settle();
  }

  async close(): Promise<void> {
    await Promise.all([this.argo.close(), this.ours.close()]);
    await this.#git.close();
    this.#folder.remove();
  }
}
