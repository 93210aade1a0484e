import { isAbort, mapLimit, messageOf, OwnershipLost } from '#base';
import type { Clock, JsonObject } from '#base';
import { metadataOf } from '#desired';
import type {
  DesiredSource,
  DryCommit,
  HydratedPath,
  HydrationCommit,
  HydrationCommitter,
  HydrationTemplate,
  HydratorMetadata,
} from '#desired';
import { equalLoosely } from '#compare';
import { jsonOf, projectOf } from '#model';
import type { AppKey, Application, AppProject, Repository } from '#model';
import { SlotLoan } from '#queues';
import type { HandlerResult, ItemHandler, WorkQueue } from '#queues';
import type { SettingsStore } from '#settings';
import type { Logger } from '#telemetry';
import type { FencedSend } from '../admission/ownership-guard.ts';
import { watchedDryPaths } from '../comparison/rendering.ts';
import type { Renderer } from '../comparison/rendering.ts';
import { ProjectUnusable } from '../shared/errors.ts';
import { hydrateAnnotation } from './hydrate-annotation.ts';
import type { HydrationIndex } from './hydration-index.ts';
import { errorFor, GroupOutcome, hydrated, hydrating, hydrationFailed, hydrationStatusOf } from './hydration-status.ts';
import type { HydrationResult } from './hydration-status.ts';
import type { HydrationWrites } from './hydration-writes.ts';
import { hydratedApplication, plainUrl } from './hydrator-spec.ts';
import type { HydratedApplication, HydrationKey } from './hydrator-spec.ts';
import { decideHydration, nextLookMs } from './needs-hydration.ts';
import { withoutTracking } from './without-tracking.ts';
import { mayHydrate, validateGroup } from './validate-group.ts';

export interface HydratorDeps {
  readonly index: HydrationIndex;
  readonly writes: HydrationWrites;
  readonly looks: Pick<WorkQueue<AppKey, undefined>, 'add'>;
  readonly groups: Pick<WorkQueue<HydrationKey, undefined>, 'add'>;
  readonly committer: HydrationCommitter;
  readonly renderer: Pick<Renderer, 'dry'>;
  readonly desired: Pick<DesiredSource, 'resolve' | 'dryCommit' | 'hasChanges'>;
  readonly settings: Pick<SettingsStore, 'settings' | 'repository' | 'writeRepository'>;
  readonly lookup: (key: AppKey) => Application | undefined;
  readonly isMine: (app: Application) => boolean;
  /** @throws ProjectUnusable */
  readonly projectFor: (app: Application) => AppProject;
  /** Runs a write under the ownership of an Application. */
  readonly fenced: <T>(leader: Application, signal: AbortSignal, send: FencedSend<T>) => Promise<T>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The Applications of a group, and the one whose owner hydrates it. */
interface HydrationGroup {
  readonly leader: Application;
  readonly members: readonly HydratedApplication[];
}

/** A run of a handler, and the loan of its worker slot while a server is slow. */
interface HydrationWait {
  readonly signal: AbortSignal;
  readonly loan: SlotLoan;
}

/** Renders of one group at once. */
const maxRenders = 4;

/**
 * Hydrates sources: renders the dry source of each Application of a group at one commit, and writes
 * the manifests in one commit to their branch. One replica does this for a group: the owner of its
 * first permitted Application, with each write fenced by that ownership. Killed anywhere, the next
 * run finds the same manifests in the branch and makes no second commit.
 */
export class Hydrator {
  readonly #deps: HydratorDeps;
  readonly #resyncMs: number;
  /** Groups that wait for a worker of this process, or have one. */
  readonly #running = new Set<HydrationKey>();

  constructor(deps: HydratorDeps, { resyncMs }: { readonly resyncMs: number }) {
    this.#deps = deps;
    this.#resyncMs = resyncMs;
  }

  /** Whether this replica hydrates the group of an Application. */
  leads(key: AppKey): boolean {
    const group = this.#deps.index.groupOf(key);
    return group !== undefined && this.#leaderOf(group) !== undefined;
  }

  /** Decides whether one Application needs hydration; its group is then hydrated. */
  readonly look: ItemHandler<AppKey, undefined> = async ({ key }, signal, slot) => {
    const group = this.#deps.index.groupOf(key);
    const leader = group === undefined ? undefined : this.#leaderOf(group);
    const one = this.#member(key);
    if (group === undefined || leader === undefined || one === undefined) return 'done';
    // An Application that is left out costs its group no rendering, and no request to a repository.
    const error = this.#errorsOf([one]).get(key);
    if (error !== undefined) {
      if (this.#isErrorNew(one, group)) await this.#leaveOut(one, leader, error);
      return this.#nextLook(key);
    }
    const { needed, reason, inProgress } = await this.#decide(one, leader, {
      group,
      signal,
      loan: new SlotLoan(slot, this.#deps.clock),
    });
    this.#deps.logger.debug(needed ? 'Hydrating app' : 'Skipping hydration', { application: key, reason });
    if (needed) this.#start(group);
    else if (!inProgress) await this.#deps.writes.answer(key, leader, hydrateAnnotation(one.app));
    return this.#nextLook(key);
  };

  /** Not while a run of the group is about to write the same. */
  #isErrorNew(one: HydratedApplication, group: HydrationKey): boolean {
    const facts = { now: this.#deps.clock.now(), isRunning: this.#running.has(group) };
    const decision = decideHydration(one, facts);
    if (decision.do === 'compare') return hydrationStatusOf(one.app).currentOperation?.phase !== 'Failed';
    return decision.do === 'hydrate';
  }

  async #leaveOut({ key, app, spec }: HydratedApplication, leader: Application, error: string): Promise<void> {
    const { writes, clock } = this.#deps;
    const now = clock.now();
    await writes.status(key, leader, (status) =>
      hydrationFailed(hydrating(status, spec, now), error, { drySha: '', now }),
    );
    await writes.answer(key, leader, hydrateAnnotation(app));
  }

  /** The errors of Applications of one group that are left out of it. */
  #errorsOf(members: readonly HydratedApplication[]): ReadonlyMap<string, string> {
    const [first] = members;
    const sharing = first === undefined ? [] : this.#deps.index.sharingBranch(first);
    return validateGroup(members, sharing, (app) => this.#projectOrError(app));
  }

  #start(group: HydrationKey): void {
    this.#running.add(group);
    this.#deps.groups.add(group);
  }

  #nextLook(key: AppKey): HandlerResult<undefined> {
    const one = this.#member(key);
    if (one === undefined) return 'done';
    const requeueAfterMs = nextLookMs(one, { now: this.#deps.clock.now(), resyncMs: this.#resyncMs });
    return requeueAfterMs === undefined ? 'done' : { requeueAfterMs, priority: 'resync' };
  }

  async #decide(
    one: HydratedApplication,
    leader: Application,
    { group, ...wait }: HydrationWait & { readonly group: HydrationKey },
  ): Promise<{ readonly needed: boolean; readonly reason: string; readonly inProgress: boolean }> {
    const facts = { now: this.#deps.clock.now(), isRunning: this.#running.has(group) };
    const decision = decideHydration(one, facts);
    if (decision.do === 'hydrate') return { needed: true, reason: decision.reason, inProgress: false };
    if (decision.do === 'skip') return { needed: false, reason: decision.reason, inProgress: decision.inProgress };
    try {
      const revision = await this.#changedRevision(one, decision.last, wait);
      if (revision?.hasChanges === true)
        return { needed: true, reason: 'new revision may have changes', inProgress: false };
      if (revision !== undefined)
        await this.#deps.writes.status(one.key, leader, (status) => ({
          ...status,
          lastComparedDryRevision: revision.sha,
        }));
      return { needed: false, reason: 'hydration not needed', inProgress: false };
    } catch (error) {
      if (isAbort(error) || error instanceof OwnershipLost) throw error;
      this.#deps.logger.warn('Failed to check for new revision changes', { application: one.key, error });
      return { needed: false, reason: 'cannot determine if hydration is needed', inProgress: false };
    }
  }

  /** The dry revision, if it is not the last one, and whether it touches the watched paths. */
  async #changedRevision(
    { app, dry }: HydratedApplication,
    last: string,
    { signal, loan }: HydrationWait,
  ): Promise<{ readonly sha: string; readonly hasChanges: boolean } | undefined> {
    const { desired, settings, projectFor } = this.#deps;
    projectFor(app);
    const repository = settings.repository(dry.repoURL, projectOf(app));
    const asked = hydrateAnnotation(app) !== undefined;
    const at = { source: dry, repository, revision: dry.targetRevision ?? '' };
    const sha = await loan.during(desired.resolve(at, asked ? 'current' : 'cached', signal));
    if (sha === last) return undefined;
    const paths = watchedDryPaths(app, dry);
    if (paths.length === 0 || desired.hasChanges === undefined) return { sha, hasChanges: true };
    const hasChanges = await loan
      .during(desired.hasChanges({ repository, from: last, to: sha, paths }, signal))
      .catch((error: unknown) => {
        if (isAbort(error)) throw error;
        return true;
      });
    return { sha, hasChanges };
  }

  /** Hydrates a group, and writes the result to the status of each of its Applications. */
  readonly hydrate: ItemHandler<HydrationKey, undefined> = async ({ key }, signal, slot) => {
    // The end of the previous run has removed the group, even if it was queued again meanwhile.
    this.#running.add(key);
    try {
      const group = this.#groupOf(key);
      if (group !== undefined) await this.#hydrateGroup(group, { signal, loan: new SlotLoan(slot, this.#deps.clock) });
      return 'done';
    } finally {
      this.#running.delete(key);
    }
  };

  async #hydrateGroup({ leader, members: all }: HydrationGroup, wait: HydrationWait): Promise<void> {
    const { writes, clock } = this.#deps;
    const errors = this.#errorsOf(all);
    for (const one of all) {
      const error = errors.get(one.key);
      if (error !== undefined) await this.#leaveOut(one, leader, error);
    }
    const members = all.filter(({ key }) => !errors.has(key));
    if (members.length === 0) return;
    const asked = new Map(members.map(({ key, app }) => [key, hydrateAnnotation(app)]));
    for (const { key, spec } of members)
      await writes.status(key, leader, (status) => hydrating(status, spec, clock.now()));
    const outcome = new GroupOutcome(this.#deps.committer.maxBytes);
    await this.#commitGroup({ leader, members }, outcome, wait);
    for (const { key } of members) {
      const { drySha, result } = outcome;
      const failed = { drySha, now: clock.now() };
      if (result === undefined)
        await writes.status(key, leader, (status) => hydrationFailed(status, errorFor(key, outcome.errors), failed));
      else await writes.statusAndRefresh(key, leader, (status) => hydrated(status, result, clock.now()));
      await writes.answer(key, leader, asked.get(key));
      // Plans the next look: after a failure it is earlier.
      this.#deps.looks.add(key, { delayMs: 1000 });
    }
    this.#deps.logger.info(outcome.result === undefined ? 'Failed to hydrate apps' : 'Successfully hydrated apps', {
      application: members[0]?.key ?? '',
      applications: members.length,
      dry_sha: outcome.drySha,
      ...(outcome.result === undefined ? { reason: [...outcome.errors.values()][0] } : {}),
    });
  }

  #projectOrError(app: Application): AppProject | { readonly error: string } {
    try {
      return this.#deps.projectFor(app);
    } catch (error) {
      if (error instanceof ProjectUnusable) return { error: error.message };
      throw error;
    }
  }

  async #commitGroup(group: HydrationGroup, outcome: GroupOutcome, wait: HydrationWait): Promise<void> {
    const { signal } = wait;
    const { members } = group;
    const [first] = members;
    if (first === undefined) return;
    try {
      outcome.drySha = await this.#render(first, first.dry.targetRevision ?? '', wait).then((rendered) => {
        outcome.add(first.key, rendered.path);
        return rendered.revision;
      });
    } catch (error) {
      outcome.fail(first.key, `failed to get manifests: ${reasonOf(error)}`);
      return;
    }
    const known = hydratedBefore(members, outcome.drySha);
    if (known !== undefined) {
      outcome.result = known;
      return;
    }
    await mapLimit(members.slice(1), maxRenders, async (one) => {
      try {
        const { path } = await this.#render(one, outcome.drySha, wait);
        outcome.add(one.key, path);
      } catch (error) {
        outcome.fail(one.key, `failed to get manifests: ${reasonOf(error)}`);
      }
    });
    if (outcome.errors.size > 0) return;
    try {
      const hydratedSha = await this.#commit(group, outcome, signal);
      outcome.result = { drySha: outcome.drySha, hydratedSha };
    } catch (error) {
      for (const { key } of members) outcome.fail(key, reasonOf(error));
    }
  }

  async #render(
    { app, key, dry, target }: HydratedApplication,
    revision: string,
    { signal, loan }: HydrationWait,
  ): Promise<{ readonly revision: string; readonly path: HydratedPath }> {
    const { renderer, projectFor, settings } = this.#deps;
    const bound = { app, key, project: projectFor(app), settings: settings.settings() };
    const cache = { revision: 'current', manifests: 'rerender' } as const;
    const request = { bound, sources: [dry], revisions: [revision], cache, localManifests: [], isDry: true } as const;
    try {
      const { objects, revision: found } = await loan.during(renderer.dry(request, signal));
      const { method } = bound.settings.tracking;
      const plain = objects.map((object) => jsonOf(withoutTracking(object, method)) as JsonObject);
      return { revision: found, path: { path: target.path, objects: plain, commands: [] } };
    } catch (error) {
      if (isAbort(error) || signal.aborted) throw error;
      const text = `failed to get repo objects for app ${JSON.stringify(key)}: failed to get repo objects: ${messageOf(error)}`;
      throw new HydrationError(text);
    }
  }

  async #commit({ leader, members }: HydrationGroup, outcome: GroupOutcome, signal: AbortSignal): Promise<string> {
    const [first] = members;
    if (first === undefined) return '';
    const { settings, committer, fenced } = this.#deps;
    const { drySha } = outcome;
    const names = new Set(members.map(({ app }) => projectOf(app)));
    const project = names.size === 1 ? ([...names][0] ?? '') : '';
    const dryRepository = settings.repository(first.dry.repoURL, project);
    const dryCommit = await this.#dryCommit(dryRepository, drySha, signal);
    const { raw } = settings.settings();
    const { target, dry, syncBranch } = first;
    const own = { template: raw['sourceHydrator.commitMessageTemplate'] ?? '', project };
    const message = await this.#message(own, metadataOf(dry.repoURL, drySha, dryCommit), signal);
    const request: HydrationCommit = {
      repository: settings.writeRepository(target.repoURL, project),
      syncBranch,
      targetBranch: target.branch,
      dryUrl: dryRepository.url,
      drySha,
      dryCommit,
      isDryDefaultBranch: isDefault(dry.targetRevision) && plainUrl(dry.repoURL) === plainUrl(target.repoURL),
      message,
      readmeTemplate: raw['sourceHydrator.readmeMessageTemplate'] ?? '',
      project,
      author: { name: raw['commit.author.name'] ?? '', email: raw['commit.author.email'] ?? '' },
      paths: members.flatMap(({ key }) => outcome.rendered.get(key) ?? []),
      fenced: (send) => fenced(leader, signal, ({ signal: inner, beforeSend }) => send({ signal: inner, beforeSend })),
    };
    try {
      return await committer.commit(request, signal);
    } catch (error) {
      if (isAbort(error) || error instanceof OwnershipLost || signal.aborted) throw error;
      throw new HydrationError(`failed to commit hydrated manifests: ${messageOf(error)}`);
    }
  }

  async #message(own: HydrationTemplate, metadata: HydratorMetadata, signal: AbortSignal): Promise<string> {
    try {
      return await this.#deps.committer.texts.message(own, metadata, signal);
    } catch (error) {
      if (isAbort(error) || signal.aborted) throw error;
      throw new HydrationError(`failed to get hydrator commit templated message: ${messageOf(error)}`);
    }
  }

  async #dryCommit(repository: Repository, sha: string, signal: AbortSignal): Promise<DryCommit> {
    try {
      const { desired } = this.#deps;
      if (desired.dryCommit === undefined) throw new HydrationError('the source has no commits');
      return await desired.dryCommit(repository, sha, signal);
    } catch (error) {
      if (isAbort(error) || signal.aborted) throw error;
      throw new HydrationError(`failed to get revision metadata for ${JSON.stringify(sha)}: ${messageOf(error)}`);
    }
  }

  /** Undefined: another replica hydrates the group, or it is gone. */
  #groupOf(group: HydrationKey): HydrationGroup | undefined {
    const leader = this.#leaderOf(group);
    if (leader === undefined) return undefined;
    return { leader, members: this.#deps.index.members(group).flatMap((key) => this.#member(key) ?? []) };
  }

  /** The first Application of a group that may hydrate, if this replica owns it. */
  #leaderOf(group: HydrationKey): Application | undefined {
    const members = this.#deps.index.members(group);
    const isLeader = (key: AppKey): boolean => {
      const one = this.#member(key);
      return one !== undefined && mayHydrate(one, (app) => this.#projectOrError(app));
    };
    const first = members.find(isLeader) ?? members[0];
    const leader = first === undefined ? undefined : this.#deps.lookup(first);
    return leader !== undefined && this.#deps.isMine(leader) ? leader : undefined;
  }

  #member(key: AppKey): HydratedApplication | undefined {
    const app = this.#deps.lookup(key);
    return app === undefined ? undefined : hydratedApplication(app);
  }
}

/** An error whose text goes into the status. */
class HydrationError extends Error {}

/** The text for the status. Lost rights, shutdowns and defects are thrown: they are no result. */
function reasonOf(error: unknown): string {
  if (error instanceof HydrationError) return error.message;
  throw error;
}

function isDefault(revision: string | undefined): boolean {
  return revision === undefined || revision === '' || revision === 'HEAD';
}

/**
 * The result of the last hydration, if it was of this dry commit for all Applications as they are
 * now, and none demands another one.
 */
function hydratedBefore(members: readonly HydratedApplication[], drySha: string): HydrationResult | undefined {
  const results = members.map(({ app, spec }) => {
    const { lastSuccessfulOperation: last } = hydrationStatusOf(app);
    const isKnown = last?.drySHA === drySha && equalLoosely(last.sourceHydrator, spec);
    return isKnown && hydrateAnnotation(app)?.type !== 'hard' ? (last.hydratedSHA ?? '') : '';
  });
  const [first = ''] = results;
  return first !== '' && results.every((sha) => sha === first) ? { drySha, hydratedSha: first } : undefined;
}
