import { isAbort, omit, stringifyJson } from '#base';
import type { Clock, Json } from '#base';
import type { ApplicationSource } from '#model';
import { DesiredError, RepoServerError, SizeLimitExceeded, SourceFailed } from '../errors.ts';
import { SharedJobs } from '../fetch/shared/shared-jobs.ts';
import type { RenderedManifests, RenderJob } from '../generate/plan.ts';
import type { RemotePlugins } from '../generate/plugins/remote-plugins.ts';
import { explicitType } from '../generate/source-type.ts';
import { defaultLimits } from '../limits.ts';
import type { SourceManifests } from '../types.ts';
import { RemoteSource } from './source.ts';
import type { RemoteSourceDeps } from './source.ts';

/** How long the names of the plugins are used. */
const namesTtlMs = 60_000;
/** Deadline for listing them. */
const namesTimeoutMs = 20_000;
/** The end of the repo-server's message if none of its plugins supports a source (Argo CD). */
const unsupported = 'could not find plugin supporting the given repository';

/**
 * The plugins beside Argo CD's repo-server. A source that needs one is sent to it as Argo CD's
 * controller sends all: with the credentials of its repository, at the commit that was verified.
 */
export class RepoServerPlugins implements RemotePlugins {
  readonly address: string;
  readonly #clock: Clock;
  readonly #source: RemoteSource;
  readonly #listings: SharedJobs<readonly string[]>;
  /** Manifests of sources that were offered to the plugins. */
  readonly #offered = new WeakMap<RenderJob, SourceManifests>();
  #names: { readonly at: number; readonly names: readonly string[] } | undefined;

  constructor(deps: RemoteSourceDeps) {
    this.address = deps.address;
    this.#clock = deps.clock;
    // Its cache entries must not be moved: whether a commit is rendered is decided here.
    this.#source = new RemoteSource({ ...deps, readOnly: true });
    this.#listings = new SharedJobs({ clock: deps.clock, limitMs: namesTimeoutMs });
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#source.run(signal);
  }

  knownNames(): readonly string[] | undefined {
    return this.#names?.names;
  }

  /** Returns older names if the repo-server cannot be asked. */
  async names(signal: AbortSignal): Promise<readonly string[]> {
    const known = this.#names;
    if (known !== undefined && this.#clock.monotonic() - known.at < namesTtlMs) return known.names;
    try {
      return await this.#listings.run('names', 'listing the plugins of the repo-server', signal, (work) =>
        this.#list(work),
      );
    } catch (error) {
      if (known === undefined || signal.aborted) throw error;
      return known.names;
    }
  }

  async #list(signal: AbortSignal): Promise<readonly string[]> {
    const at = this.#clock.monotonic();
    const names = await this.#source.plugins(signal);
    this.#names = { at, names };
    return names;
  }

  /** Asks for the manifests of a plugin, and keeps them for the rendering. */
  async supports(job: RenderJob, signal: AbortSignal): Promise<boolean> {
    if (this.#offered.has(job)) return true;
    try {
      this.#offered.set(job, await this.#ask(job, signal));
      return true;
    } catch (error) {
      if (error instanceof RepoServerError && error.message.endsWith(unsupported)) return false;
      throw error;
    }
  }

  async render(job: RenderJob, signal: AbortSignal): Promise<RenderedManifests> {
    const { objects, unnamed = [] } = this.#offered.get(job) ?? (await this.#ask(job, signal));
    const { maxObjects } = defaultLimits;
    if (objects.length > maxObjects) throw new SizeLimitExceeded(`the source has more than ${maxObjects} objects`);
    return { objects, unnamed, bytes: stringifyJson(objects as unknown as Json).length + 256 };
  }

  /** Without tracking, which the caller adds to the manifests of any source. */
  async #ask(
    { request, source, repository, snapshot, noteWait }: RenderJob,
    signal: AbortSignal,
  ): Promise<SourceManifests> {
    const at = { source: asPluginSource(source), repository, revision: snapshot.revision };
    const alone = { ...omit(request, 'tracking'), sources: [at] };
    noteWait?.(`the repo-server ${this.address}`);
    const { sources } = await this.#source.manifests(alone, signal).catch((error: unknown) => {
      throw error instanceof SourceFailed && !isAbort(error) ? error.cause : error;
    });
    noteWait?.('');
    const [answer] = sources;
    if (answer?.sourceType === 'Plugin') return answer;
    throw new DesiredError(
      'DESIRED_PLUGIN',
      `the repo-server ${this.address} answered with a source of type "${answer?.sourceType ?? ''}" instead of Plugin`,
    );
  }
}

/** With the type set, the repo-server renders the source by a plugin or not at all. */
function asPluginSource(source: ApplicationSource): ApplicationSource {
  const alone = omit(source, 'ref');
  return explicitType(source) === undefined ? { ...alone, plugin: {} } : alone;
}
