import { at, deepEqual, DriftlessError, isObject } from '#base';
import type { Clock, Json, Limiter } from '#base';
import { clientSideApplyPatch, withLastApplied } from '#diff';
import { findResource, isAlreadyExists, isConflict, isForbidden, isNotFound, KubeApiError } from '#kube';
import type { ApiDiscovery, DeleteOptions, KubeClient, NamedObject, WriteOptions } from '#kube';
import type { LiveCluster } from '#live';
import { fieldManager, gvkOf, groupOf, jsonOf, versionOf } from '#model';
import type { ApiResource, KubeObject } from '#model';
import type { ApplyHow, ApplyResult, ClusterWriter, Deletion } from '#sync';
import type { GateAnswer, GateQuestion } from './apply-gate.ts';
import { dryRunOnly } from './dry-run-client.ts';
import { PolicyDenied, UnknownKind } from './errors.ts';
import { isMarkedOtherwise } from './marks.ts';
import type { AppOf } from './marks.ts';
import { adoptAfter, adoptBefore } from './migration.ts';
import { recreate, tryCreate } from './recreate.ts';
import type { RecreateDeps } from './recreate.ts';
import type { Send } from './ownership-guard.ts';

export interface WriterDeps {
  readonly cluster: Pick<LiveCluster, 'observe'> & { discovery(): ApiDiscovery };
  /** The cluster's client, already acting as whoever this application's syncs act as. */
  readonly client: KubeClient;
  /** Sends a write if this replica may write for the application right now; throws OwnershipLost otherwise. */
  readonly fenced: <T>(signal: AbortSignal, send: Send<T>) => Promise<T>;
  /** Why the project does not let the application have this object in this place; undefined when it does. */
  readonly denied: (object: KubeObject, namespaced: boolean) => string | undefined;
  readonly appOf: AppOf;
  /** --kubectl-parallelism-limit, of the whole process. */
  readonly limiter: Limiter;
  readonly clock: Clock;
  /** Knows what need not be sent; absent: everything is. */
  readonly gate?: WriterGate;
  /** True: for an operation that only tries. Every write is a dry run then, whatever the caller asks for. */
  readonly dryRun?: boolean;
}

/** The gate of hashes, for one application on one cluster. */
export interface WriterGate {
  ask(sending: Sending): GateAnswer;
  merged(sending: Sending, unchanged: boolean): void;
}

/** What is about to be sent over what. */
export type Sending = Pick<GateQuestion, 'target' | 'live' | 'how'>;

type Propagation = 'Foreground' | 'Background' | 'Orphan';

/** How often a write is tried that loses races with other writers. */
const conflictTries = 5;

/** One object on its way to the server. */
interface Sent {
  readonly resource: ApiResource;
  readonly target: KubeObject;
  readonly how: ApplyHow;
}

/** The same, with what is known of the live object; null: there is none. */
interface Apply extends Sent {
  readonly live: KubeObject | null;
}

/**
 * The one way in which this process changes a managed cluster (decision D9): sync, hooks, prune, self-heal, namespaces and cascade delete all
 * come through here, and each call first checks that the cluster is still ours and that the project allows the object.
 *
 * Applying does what kubectl apply does (gitops-engine/pkg/utils/kube): three-way merge with the last-applied annotation, creation when
 * missing, a few tries when others write at the same time, replacement when forced. Differences: a dry run is the server's own, so that what
 * the server would refuse is known before anything is changed; deletions name the UID and the version that was looked at, so that a namesake that
 * someone else has made in the meantime survives, and what someone has given to another Application; a CustomResourceDefinition or Namespace is never deleted to be made anew, since everything in it would go too.
 */
export class GuardedWriter implements ClusterWriter {
  readonly #deps: WriterDeps;
  readonly #client: KubeClient;
  readonly #tools: RecreateDeps;
  #fresh: ApiDiscovery | undefined;

  constructor(deps: WriterDeps) {
    this.#deps = deps;
    this.#client = deps.dryRun === true ? dryRunOnly(deps.client) : deps.client;
    this.#tools = {
      client: this.#client,
      read: this.#read.bind(this),
      write: (signal, send) => this.#write(signal, send),
      clock: deps.clock,
    };
  }

  get discovery(): ApiDiscovery {
    return this.#deps.cluster.discovery();
  }

  denied(object: KubeObject, namespaced: boolean): string | undefined {
    return this.#deps.denied(object, namespaced);
  }

  async get(object: KubeObject, signal: AbortSignal): Promise<KubeObject | null> {
    const resource = await this.#resource(object, signal);
    return this.#read(resource, nameOf(object, resource), signal);
  }

  async create(object: KubeObject, asked: boolean, signal: AbortSignal): Promise<ApplyResult> {
    const dryRun = asked || this.#deps.dryRun === true;
    const resource = await this.#allowed(object, signal);
    const created = await this.#write(signal, (inner) =>
      this.#client.create(resource, object, { signal: inner, dryRun }),
    );
    return this.#done(created, 'created', dryRun);
  }

  async apply(
    target: KubeObject,
    known: KubeObject | null,
    asked: ApplyHow,
    signal: AbortSignal,
  ): Promise<ApplyResult> {
    const how = this.#deps.dryRun === true ? { ...asked, dryRun: true } : asked;
    const resource = await this.#allowed(target, signal);
    // As kubectl: each sync would make another one, and find none of them again.
    const prefix = (target.metadata.name ?? '') === '' ? target.metadata.generateName : undefined;
    if (prefix !== undefined && how.replace) return this.create(target, how.dryRun, signal);
    if (prefix !== undefined)
      throw new DriftlessError('NAME_MISSING', `from ${prefix}: cannot use generate name with apply`, {
        retry: 'never',
      });
    const live = how.over === undefined ? known : await this.#read(resource, nameOf(target, resource), signal);
    try {
      const apply = { resource, target, live, how };
      if (how.replace) return await this.#replaceCounted(apply, signal);
      if (how.serverSide) return await this.#throughGate(apply, signal);
      return await this.#clientSide(apply, signal);
    } catch (error) {
      if (how.dryRun && isBeyondDryRun(error))
        return this.#done(target, live === null ? 'created' : 'configured', true);
      throw error;
    }
  }

  /**
   * Only this very object, in the version that the decision was made by. When it is another version, it is looked at again, and goes when nobody has marked
   * it otherwise meanwhile. One that is written all the time goes without its version in the end, right after such a look; and one that whoever we act as
   * may delete but not read.
   */
  async delete(live: KubeObject, propagation: Propagation, signal: AbortSignal): Promise<Deletion> {
    const resource = await this.#allowed(live, signal);
    let current = live;
    let mayRead = true;
    for (let attempt = 1; ; attempt += 1) {
      try {
        const preconditions = preconditionsOf(current, mayRead && attempt < conflictTries);
        const options = { propagationPolicy: propagation, ...(preconditions === undefined ? {} : { preconditions }) };
        await this.#write(signal, (inner) =>
          this.#client.delete(resource, nameOf(live, resource), { ...options, signal: inner }),
        );
        return 'accepted';
      } catch (error) {
        if (!isConflict(error) || !mayRead || attempt >= conflictTries) throw error;
        const fresh = await this.#lookAgain(resource, live, signal);
        mayRead = fresh !== undefined;
        if (fresh === undefined) continue;
        if (fresh === null) return 'accepted';
        if (fresh.metadata.uid !== live.metadata.uid) throw error;
        this.#observe(fresh, this.#deps.dryRun === true);
        if (isMarkedOtherwise(live, fresh, this.#deps.appOf)) return 'changed';
        current = fresh;
      }
    }
  }

  /** Undefined: we may not. */
  async #lookAgain(
    resource: ApiResource,
    live: KubeObject,
    signal: AbortSignal,
  ): Promise<KubeObject | null | undefined> {
    try {
      return await this.#read(resource, nameOf(live, resource), signal);
    } catch (error) {
      if (isForbidden(error)) return undefined;
      throw error;
    }
  }

  async patchMetadata(
    live: KubeObject,
    patch: { readonly finalizers: readonly string[] | null },
    signal: AbortSignal,
  ): Promise<KubeObject> {
    const resource = await this.#allowed(live, signal);
    const name = nameOf(live, resource);
    const body = jsonOf({
      metadata: { finalizers: patch.finalizers, resourceVersion: live.metadata.resourceVersion ?? null },
    });
    const stored = await this.#write(signal, (inner) =>
      this.#client.patch(resource, name, { type: 'merge', body }, { signal: inner, fieldManager }),
    );
    this.#observe(stored, this.#deps.dryRun === true);
    return stored;
  }

  async #clientSide(apply: Apply, signal: AbortSignal): Promise<ApplyResult> {
    const { resource, target: wanted, how } = apply;
    const name = nameOf(wanted, resource);
    let { live } = apply;
    for (let attempt = 1; ; attempt += 1) {
      const target = await sentOver(wanted, live, how, signal);
      try {
        return await this.#applyOnce({ resource, target, live, how }, signal);
      } catch (error) {
        if (isRace(error, live) && attempt < conflictTries) live = await this.#read(resource, name, signal);
        else if (how.force && live !== null && !holdsOthers(resource) && isRefusedChange(error, how))
          return this.#recreate({ resource, target: withLastApplied(target), how }, signal);
        else throw error;
      }
    }
  }

  async #applyOnce({ live, ...sent }: Apply, signal: AbortSignal): Promise<ApplyResult> {
    if (live === null) this.#count({ ...sent, live }, false);
    if (live === null) return this.#createApplied(sent, signal);
    if (!bindsAnotherRole(sent.target, live)) return this.#patchApplied({ ...sent, live }, signal);
    return this.#recreate({ ...sent, target: withLastApplied(sent.target) }, signal);
  }

  async #createApplied({ resource, target, how }: Sent, signal: AbortSignal): Promise<ApplyResult> {
    const body = withoutNulls(withLastApplied(target));
    const created = await this.#write(signal, (inner) =>
      this.#client.create(resource, body, this.#options(how, inner)),
    );
    return this.#done(created, 'created', how.dryRun);
  }

  async #patchApplied(
    { resource, target, live, how }: Sent & { readonly live: KubeObject },
    signal: AbortSignal,
  ): Promise<ApplyResult> {
    const patch = clientSideApplyPatch(target, live);
    this.#count({ target, live, how }, patch === undefined);
    if (patch === undefined) return this.#done(live, 'unchanged', how.dryRun);
    const name = nameOf(target, resource);
    const sent = how.over === undefined ? patch : { ...patch, body: atVersion(patch.body, live) };
    const stored = await this.#write(signal, (inner) =>
      this.#client.patch(resource, name, sent, this.#options(how, inner)),
    );
    return this.#done(stored, 'configured', how.dryRun);
  }

  #count(sending: Sending, unchanged: boolean): void {
    if (!sending.how.dryRun) this.#deps.gate?.merged(sending, unchanged);
  }

  #replaceCounted(apply: Apply, signal: AbortSignal): Promise<ApplyResult> {
    this.#count(apply, false);
    return this.#replace(apply, signal);
  }

  /** What the gate keeps shut is told of in the words of an apply: to clients nothing is different. */
  async #throughGate(apply: Apply, signal: AbortSignal): Promise<ApplyResult> {
    const { live, how } = apply;
    const answer = how.dryRun ? undefined : this.#deps.gate?.ask(apply);
    if (answer?.unchanged === true && live !== null)
      return { object: live, message: `${shortName(live)} serverside-applied` };
    const result = await this.#serverSide(apply, signal);
    if (answer?.unchanged === false) answer.learn(result.object);
    return result;
  }

  async #serverSide(apply: Apply, signal: AbortSignal): Promise<ApplyResult> {
    const { resource, target, live, how } = apply;
    const place = { resource, name: nameOf(target, resource) };
    if (!how.dryRun && live !== null && how.adoptFrom !== undefined)
      await adoptBefore(this.#tools, place, { live, from: how.adoptFrom }, signal);
    let stored = await this.#applyServerSide(apply, signal);
    if (!how.dryRun && (await adoptAfter(this.#tools, place, stored, signal)))
      stored = await this.#applyServerSide({ ...apply, live: stored }, signal);
    return this.#done(stored, 'serverside-applied', how.dryRun);
  }

  async #applyServerSide({ resource, target, live: known, how }: Apply, signal: AbortSignal): Promise<KubeObject> {
    const name = nameOf(target, resource);
    let live = known;
    for (let attempt = 1; ; attempt += 1) {
      const wanted = await sentOver(target, live, how, signal);
      const body = live === null || how.over === undefined ? wanted : atVersion(wanted, live);
      try {
        return await this.#write(signal, (inner) =>
          this.#client.patch(resource, name, { type: 'apply', body }, { ...this.#options(how, inner), force: true }),
        );
      } catch (error) {
        if (how.over === undefined || !isConflict(error) || attempt === conflictTries) throw error;
        live = await this.#read(resource, name, signal);
      }
    }
  }

  async #replace({ resource, target, live, how }: Apply, signal: AbortSignal): Promise<ApplyResult> {
    const current = await this.#read(resource, nameOf(target, resource), signal);
    if (current === null) return this.create(target, how.dryRun, signal);
    const inPlace = holdsOthers(resource);
    const sent = await sentOver(target, inPlace ? (live ?? current) : current, how, signal);
    if (how.force && !inPlace) {
      const made = await this.#recreate({ resource, target: sent, how }, signal);
      return how.dryRun ? made : { object: made.object, message: `${shortName(target)} replaced` };
    }
    // As Argo CD, the version that was compared for what is updated in its place.
    if (!inPlace)
      return this.#done(await this.#overwrite(resource, target, current, { how, signal }), 'replaced', how.dryRun);
    const { resourceVersion } = (live ?? current).metadata;
    const stored = await this.#put(resource, sent, resourceVersion, { how, signal });
    this.#observe(stored, how.dryRun);
    return { object: stored, message: `${target.kind}/${target.metadata.name ?? ''} updated` };
  }

  /**
   * Puts `target` in the place of whatever is there, however often somebody else writes to it: without a version where the server takes that
   * (most built-in kinds), else with the one that is there now. kubectl sends the latter always, and loses against busy writers.
   * Where parts of it stay as they are, always with the version that these parts are of.
   */
  async #overwrite(
    resource: ApiResource,
    target: KubeObject,
    current: KubeObject,
    { how, signal }: { readonly how: ApplyHow; readonly signal: AbortSignal },
  ): Promise<KubeObject> {
    const named = target.metadata.resourceVersion;
    let version = named ?? (how.over === undefined ? undefined : current.metadata.resourceVersion);
    let live: KubeObject | null = current;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#put(resource, await sentOver(target, live, how, signal), version, { how, signal });
      } catch (error) {
        if (named !== undefined || attempt > conflictTries || !(isConflict(error) || needsVersion(error))) throw error;
        live = await this.#read(resource, nameOf(target, resource), signal);
        version = live?.metadata.resourceVersion;
      }
    }
  }

  #put(
    resource: ApiResource,
    target: KubeObject,
    resourceVersion: string | undefined,
    { how, signal }: { readonly how: ApplyHow; readonly signal: AbortSignal },
  ): Promise<KubeObject> {
    const metadata = resourceVersion === undefined ? target.metadata : { ...target.metadata, resourceVersion };
    return this.#write(signal, (inner) =>
      this.#client.replace(resource, { ...target, metadata }, this.#options(how, inner)),
    );
  }

  /** Deletes an object and makes it anew; in a dry run only asks whether the server would make it. */
  async #recreate({ resource, target, how }: Sent, signal: AbortSignal): Promise<ApplyResult> {
    const job = { resource, name: nameOf(target, resource), target: withoutNulls(target), what: shortName(target) };
    if (!how.dryRun) return this.#done(await recreate(this.#tools, job, signal), 'configured', false);
    await tryCreate(this.#tools, job, signal);
    return this.#done(target, 'configured', true);
  }

  /** The choke point: every change passes here, and is checked at the last moment. */
  #write<T>(signal: AbortSignal, send: Send<T>): Promise<T> {
    return this.#deps.limiter.run(signal, () => this.#deps.fenced(signal, send));
  }

  async #read(resource: ApiResource, name: NamedObject, signal: AbortSignal): Promise<KubeObject | null> {
    try {
      return await this.#client.get(resource, name, { signal });
    } catch (error) {
      if (isNotFound(error)) return null;
      throw error;
    }
  }

  async #allowed(object: KubeObject, signal: AbortSignal): Promise<ApiResource> {
    const resource = await this.#resource(object, signal);
    const refusal = this.#deps.denied(object, resource.namespaced);
    if (refusal !== undefined) throw new PolicyDenied(refusal);
    return resource;
  }

  /** The served resource of an object's kind; asks the server anew for a kind that only a moment ago did not exist. */
  async #resource(object: KubeObject, signal: AbortSignal): Promise<ApiResource> {
    const gk = { group: groupOf(object.apiVersion), kind: object.kind };
    const version = versionOf(object.apiVersion);
    const fresh = this.#fresh;
    const known =
      findResource(this.discovery, gk, version) ?? (fresh === undefined ? undefined : findResource(fresh, gk, version));
    if (known !== undefined) return known;
    this.#fresh = await this.#client.discover({ signal });
    const found = findResource(this.#fresh, gk, version);
    if (found === undefined) throw new UnknownKind(gk.group, gk.kind, version);
    return found;
  }

  #options(how: ApplyHow, signal: AbortSignal): WriteOptions {
    return { signal, fieldManager, ...(how.dryRun ? { dryRun: true } : {}) };
  }

  #done(object: KubeObject, verb: string, dryRun: boolean): ApplyResult {
    this.#observe(object, dryRun);
    return { object, message: `${shortName(object)} ${verb}${dryRun ? ' (dry run)' : ''}` };
  }

  #observe(object: KubeObject, dryRun: boolean): void {
    if (!dryRun && object.metadata.resourceVersion !== undefined) this.#deps.cluster.observe(object);
  }
}

function preconditionsOf({ metadata }: KubeObject, named: boolean): DeleteOptions['preconditions'] {
  const { uid, resourceVersion } = metadata;
  if (uid === undefined) return undefined;
  return named && resourceVersion !== undefined ? { uid, resourceVersion } : { uid };
}

function nameOf(object: KubeObject, resource: ApiResource): NamedObject {
  const name = object.metadata.name ?? '';
  if (name === '' && object.metadata.generateName === undefined)
    throw new DriftlessError('NAME_MISSING', 'resource name may not be empty', { retry: 'never' });
  return { namespace: resource.namespaced ? (object.metadata.namespace ?? '') : '', name };
}

/** kubectl's words for an object: `deployment.apps/web`. */
export function shortName(object: KubeObject): string {
  const { group, kind } = gvkOf(object);
  return `${kind.toLowerCase()}${group === '' ? '' : `.${group}`}/${object.metadata.name ?? object.metadata.generateName ?? ''}`;
}

/** A null in a manifest means "no such field"; a server that creates an object would store or refuse it. */
function withoutNulls(object: KubeObject): KubeObject {
  return dropNulls(jsonOf(object)) as unknown as KubeObject;
}

function dropNulls(value: Json): Json {
  if (Array.isArray(value)) return value.map(dropNulls);
  if (!isObject(value)) return value;
  const members = Object.entries(value).filter(([, member]) => member !== null && member !== undefined);
  return Object.fromEntries(members.map(([key, member]) => [key, dropNulls(member ?? null)]));
}

/** A promise of the target, or of what is sent in its place. */
async function sentOver(
  target: KubeObject,
  live: KubeObject | null,
  { over }: ApplyHow,
  signal: AbortSignal,
): Promise<KubeObject> {
  return live === null || over === undefined ? target : over(live, signal);
}

/** What is sent, so that the server refuses it when somebody has written `live` since. */
function atVersion<T extends { readonly metadata?: unknown }>(body: T, live: KubeObject): T {
  const { resourceVersion } = live.metadata;
  return { ...body, metadata: { ...(body.metadata as object | undefined), resourceVersion } };
}

/** The role of a binding cannot be changed in place (kubectl auth reconcile makes such a binding anew). */
function bindsAnotherRole(target: KubeObject, live: KubeObject): boolean {
  if (groupOf(target.apiVersion) !== 'rbac.authorization.k8s.io' || !target.kind.endsWith('RoleBinding')) return false;
  const same = (field: string): boolean =>
    deepEqual(at(jsonOf(target), 'roleRef', field), at(jsonOf(live), 'roleRef', field));
  return !same('kind') || !same('name');
}

/** What is deleted with everything that lives in it: never deleted just to be made anew (Argo CD updates these two in place, too). */
function holdsOthers(resource: ApiResource): boolean {
  const { group, kind } = resource;
  return (
    (group === 'apiextensions.k8s.io' && kind === 'CustomResourceDefinition') || (group === '' && kind === 'Namespace')
  );
}

/** Someone else wrote, made or removed the object between our read and our write. */
function isRace(error: unknown, live: KubeObject | null): boolean {
  return isAlreadyExists(error) || isConflict(error) || (isNotFound(error) && live !== null);
}

/** Custom resources and some built-in kinds are replaced only by who names the version. */
function needsVersion(error: unknown): boolean {
  return (
    error instanceof KubeApiError && error.status === 422 && error.message.includes('must be specified for an update')
  );
}

/** Losing against a busy writer, under a version that we named, is no reason to delete the object. */
function isRefusedChange(error: unknown, { over }: ApplyHow): boolean {
  if (over !== undefined && isConflict(error)) return false;
  return error instanceof KubeApiError && (error.status === 409 || error.status === 422);
}

/**
 * What a dry run cannot answer: the namespace comes into being in this very sync, or an admission webhook takes no part in dry runs. The
 * wet run will tell.
 */
function isBeyondDryRun(error: unknown): boolean {
  if (!(error instanceof KubeApiError)) return false;
  if (error.status === 404) return /^namespaces ".*" not found$/.test(error.message);
  return error.status === 400 && error.message.includes('does not support dry run');
}
