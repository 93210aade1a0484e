import { defined, DriftlessError } from '#base';
import type { Clock } from '#base';
import {
  clientSideApplyPatch,
  displacedItemsPatch,
  hiddenFields,
  recordAtVersion,
  serverSideTarget,
  withLastApplied,
} from '#diff';
import { findResource, isConflict, isForbidden, unlessNotFound } from '#kube';
import type { ApiDiscovery, CheckedCall, KubeClient, NamedObject, WriteOptions } from '#kube';
import type { LiveCluster } from '#live';
import { clientSideManager, fieldManager as controllerManager, gkOf, gvkOf, jsonOf, versionOf } from '#model';
import type { ApiResource, KubeObject } from '#model';
import { missingNameMessage } from '#sync';
import type { ApplyOptions, ApplyResult, ClusterWriter, DeleteOutcome } from '#sync';
import type { GateAnswer, GateQuestion } from './apply-gate.ts';
import {
  isRoleRefChanged,
  hasChangedMarks,
  hasContents,
  namedObjectOf,
  preconditionsOf,
  isWriteRace,
  isRefusedChange,
  isBeyondDryRun,
  resolveManifest,
  servedVersions,
  warned,
  withoutNulls,
  withResourceVersion,
} from './apply-rules.ts';
import type { TrackedAppLookup } from './apply-rules.ts';
import { dryRunOnly } from './wrapped-clients.ts';
import { PolicyDenied, UnknownKind } from '../shared/errors.ts';
import type { KubectlCommand, KubectlMetrics } from './kubectl-metrics.ts';
import { migrateAfterApply, migrateBeforeApply } from './migration.ts';
import { recreate, recreatedText, tryCreate } from './recreate.ts';
import type { RecreateDeps } from './recreate.ts';
import { maxConflictAttempts, replaceObject, withRecord, withVersion } from './replace.ts';
import type { Replacement } from './replace.ts';
import type { FencedSend } from '../admission/ownership-guard.ts';
import type { WritePace } from './write-pace.ts';

export interface WriterDeps {
  readonly cluster: Pick<LiveCluster, 'observe'> & { discovery(): ApiDiscovery };
  /** The cluster's client, with impersonation already applied. */
  readonly client: KubeClient;
  /**
   * Sends a write if this replica may write for the Application now; throws OwnershipLost
   * otherwise.
   */
  readonly fenced: <T>(signal: AbortSignal, send: FencedSend<T>) => Promise<T>;
  /** Why the project does not permit the object; undefined when it does. */
  readonly denied: (object: KubeObject, namespaced: boolean) => string | undefined;
  readonly appOf: TrackedAppLookup;
  /** Paces the writes to this cluster. */
  readonly pace: Pick<WritePace, 'write' | 'read' | 'during'>;
  readonly clock: Clock;
  /** Counts the writes as kubectl commands. */
  readonly kubectl?: Pick<KubectlMetrics, 'count' | 'run'>;
  /** Skips unnecessary applies; without it, everything is sent. */
  readonly gate?: WriterGate;
  /** True for a dry-run operation: every write becomes a dry run. */
  readonly dryRun?: boolean;
  /** The name under which it applies; by default that of the controller. */
  readonly fieldManager?: string;
}

/** The hash gate, bound to one Application and cluster. */
export interface WriterGate {
  ask(sending: ApplyIntent): GateAnswer;
  merged(sending: ApplyIntent, unchanged: boolean): void;
}

/** A manifest to apply, and the live object. */
export type ApplyIntent = Pick<GateQuestion, 'target' | 'live' | 'how'>;

type DeletePropagation = 'Foreground' | 'Background' | 'Orphan';

/** One object to send. */
interface OutgoingObject {
  readonly resource: ApiResource;
  readonly target: KubeObject;
}

/** An object to send, and its live version; null: it does not exist. */
interface OutgoingApply extends OutgoingObject {
  readonly how: ApplyOptions;
  readonly live: KubeObject | null;
}

/**
 * The only writer to managed clusters (decision D9): sync, hooks, prune, self-heal, namespaces and
 * cascade deletion use it. Each write checks ownership and project first. Applying follows kubectl
 * apply (gitops-engine/pkg/utils/kube): three-way merge with last-applied, creation when missing, a
 * few retries after conflicts, replacement when forced.
 *
 * Differences: dry runs are the server's, which finds refusals before any change; deletions name
 * UID and version, so that a new object of the same name survives, as does one moved to another
 * Application; a CRD or Namespace is never recreated, since its contents would be lost.
 */
export class GuardedWriter implements ClusterWriter {
  readonly #deps: WriterDeps;
  readonly #isDryRun: boolean;
  readonly #client: KubeClient;
  readonly #gate: WriterGate | undefined;
  readonly #tools: RecreateDeps;
  #freshDiscovery: ApiDiscovery | undefined;

  constructor(deps: WriterDeps) {
    this.#deps = deps;
    this.#isDryRun = deps.dryRun === true;
    this.#client = this.#isDryRun ? dryRunOnly(deps.client) : deps.client;
    this.#gate = this.#isDryRun ? undefined : deps.gate;
    this.#tools = {
      client: this.#client,
      fieldManager: deps.fieldManager ?? controllerManager,
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
    return this.#read(resource, namedObjectOf(object, resource), signal);
  }

  async create(object: KubeObject, signal: AbortSignal, how?: ApplyOptions): Promise<ApplyResult> {
    const resource = await this.#permittedResource(object, signal);
    this.#deps.kubectl?.count('create');
    const created = await this.#command('create', signal, (call) =>
      this.#client.create(resource, object, this.#options(call, how)),
    );
    return this.#resultOf(created, 'created');
  }

  async apply(
    target: KubeObject,
    known: KubeObject | null,
    how: ApplyOptions,
    signal: AbortSignal,
  ): Promise<ApplyResult> {
    const resource = await this.#permittedResource(target, signal);
    // Refused as in kubectl apply: each sync would create another object and never find it again.
    const nameless = missingNameMessage(target);
    if (nameless !== undefined && how.replace) return this.create(target, signal, how);
    if (nameless !== undefined) throw new DriftlessError('NAME_MISSING', nameless, { retry: 'never' });
    const live =
      how.buildTarget === undefined ? known : await this.#read(resource, namedObjectOf(target, resource), signal);
    try {
      const apply = { resource, target, live, how };
      if (!how.replace) this.#deps.kubectl?.count('apply');
      if (how.replace) return await this.#replaceCounted(apply, signal);
      if (how.serverSide) return await this.#gatedApply(apply, signal);
      return await this.#clientSide(apply, signal);
    } catch (error) {
      if (this.#isDryRun && isBeyondDryRun(error))
        return this.#resultOf(target, live === null ? 'created' : 'configured');
      throw error;
    }
  }

  /**
   * Deletes exactly this object in this version; after a conflict, reads it again and stops if its
   * markings changed. The last attempt, or one without read access, names only the UID.
   */
  async delete(live: KubeObject, propagation: DeletePropagation, signal: AbortSignal): Promise<DeleteOutcome> {
    const resource = await this.#permittedResource(live, signal);
    let current = live;
    let mayRead = true;
    for (let attempt = 1; ; attempt += 1) {
      try {
        const preconditions = preconditionsOf(current, mayRead && attempt < maxConflictAttempts);
        const options = { propagationPolicy: propagation, ...defined({ preconditions }) };
        await this.#write(signal, (call) =>
          this.#client.delete(resource, namedObjectOf(live, resource), { ...options, ...call }),
        );
        return 'accepted';
      } catch (error) {
        if (!isConflict(error) || !mayRead || attempt >= maxConflictAttempts) throw error;
        const fresh = await this.#readIfAllowed(resource, live, signal);
        mayRead = fresh !== undefined;
        if (fresh === undefined) continue;
        if (fresh === null) return 'accepted';
        if (fresh.metadata.uid !== live.metadata.uid) throw error;
        this.#observe(fresh);
        if (hasChangedMarks(live, fresh, this.#deps.appOf)) return 'changed';
        current = fresh;
      }
    }
  }

  /** Undefined: forbidden. */
  async #readIfAllowed(
    resource: ApiResource,
    live: KubeObject,
    signal: AbortSignal,
  ): Promise<KubeObject | null | undefined> {
    try {
      return await this.#read(resource, namedObjectOf(live, resource), signal);
    } catch (error) {
      if (isForbidden(error)) return undefined;
      throw error;
    }
  }

  patchMetadata(
    live: KubeObject,
    { finalizers }: { readonly finalizers: readonly string[] | null },
    signal: AbortSignal,
  ): Promise<KubeObject> {
    return this.patch(live, { metadata: { finalizers } }, signal);
  }

  /** Merges metadata, or a status by its subresource, into this version of an object. */
  async patch(
    live: KubeObject,
    { metadata, ...status }: { readonly metadata: object } | { readonly metadata?: never; readonly status: object },
    signal: AbortSignal,
  ): Promise<KubeObject> {
    const resource = await this.#permittedResource(live, signal);
    const name = namedObjectOf(live, resource);
    const { resourceVersion = null } = live.metadata;
    const body = jsonOf({ ...status, metadata: { ...metadata, resourceVersion } });
    const where: Pick<WriteOptions, 'subresource'> = metadata === undefined ? { subresource: 'status' } : {};
    const stored = await this.#write(signal, (call) =>
      this.#client.patch(resource, name, { type: 'merge', body }, { ...this.#options(call), ...where }),
    );
    this.#observe(stored);
    return stored;
  }

  async #clientSide(apply: OutgoingApply, signal: AbortSignal): Promise<ApplyResult> {
    const { resource, target: wanted, how } = apply;
    const name = namedObjectOf(wanted, resource);
    let { live } = apply;
    for (let attempt = 1; ; attempt += 1) {
      const target = await resolveManifest(wanted, live, how, signal);
      try {
        return await this.#applyOnce({ resource, target, live, how }, signal);
      } catch (error) {
        if (isWriteRace(error, live) && attempt < maxConflictAttempts) live = await this.#read(resource, name, signal);
        else if (how.force && live !== null && !hasContents(resource) && isRefusedChange(error, how))
          return this.#recreate({ resource, target: withLastApplied(target) }, signal);
        else throw error;
      }
    }
  }

  async #applyOnce({ live, ...sent }: OutgoingApply, signal: AbortSignal): Promise<ApplyResult> {
    if (live === null) this.#countClientSide({ ...sent, live }, false);
    if (live === null) return this.#createApplied(sent, signal);
    if (!isRoleRefChanged(sent.target, live)) return this.#patchApplied({ ...sent, live }, signal);
    return this.#recreate({ ...sent, target: withLastApplied(sent.target) }, signal);
  }

  async #createApplied(
    { resource, target, how }: Omit<OutgoingApply, 'live'>,
    signal: AbortSignal,
  ): Promise<ApplyResult> {
    const body = withoutNulls(withLastApplied(target));
    const created = await this.#command('apply', signal, (call) =>
      this.#client.create(resource, body, this.#options(call, how)),
    );
    return this.#resultOf(created, 'created');
  }

  async #patchApplied(
    { resource, target, live, how }: OutgoingApply & { readonly live: KubeObject },
    signal: AbortSignal,
  ): Promise<ApplyResult> {
    // Only a server-side apply, of what is recorded as applied, removes what another version shows.
    const outgoing = { resource, target: withLastApplied(target), live, how: { ...how, adoptFrom: clientSideManager } };
    if (hiddenFields(target, live, { method: 'client' }, this.#tools).length > 0)
      return this.#serverSide(outgoing, signal);
    const patch = clientSideApplyPatch(target, live, this.#tools);
    this.#countClientSide({ target, live, how }, patch === undefined);
    if (patch === undefined) return this.#resultOf(live, 'unchanged');
    const name = namedObjectOf(target, resource);
    const sent = how.buildTarget === undefined ? patch : { ...patch, body: withResourceVersion(patch.body, live) };
    const stored = await this.#command('apply', signal, (call) =>
      this.#client.patch(resource, name, sent, this.#options(call, how)),
    );
    return this.#resultOf(stored, 'configured');
  }

  #countClientSide(sending: ApplyIntent, unchanged: boolean): void {
    this.#gate?.merged(sending, unchanged);
  }

  #replaceCounted(apply: OutgoingApply, signal: AbortSignal): Promise<ApplyResult> {
    this.#countClientSide(apply, false);
    return this.#replace(apply, signal);
  }

  /** A skipped apply reports the message of an apply: clients see no difference. */
  async #gatedApply(apply: OutgoingApply, signal: AbortSignal): Promise<ApplyResult> {
    const { live } = apply;
    const answer = this.#gate?.ask(apply);
    if (answer?.unchanged === true && live !== null)
      return { object: live, message: `${shortName(live)} serverside-applied` };
    const result = await this.#serverSide(apply, signal);
    if (answer?.unchanged === false) answer.learn(result.object);
    return result;
  }

  async #serverSide(apply: OutgoingApply, signal: AbortSignal): Promise<ApplyResult> {
    const { resource, target } = apply;
    const place = { resource, name: namedObjectOf(target, resource) };
    let live = apply.live === null ? null : await this.#withoutDisplacedItems({ ...apply, live: apply.live }, signal);
    if (this.#isDryRun && live !== null && live !== apply.live) return this.#resultOf(live, 'serverside-applied');
    if (!this.#isDryRun && live !== null) live = await this.#migrated({ ...apply, live }, signal);
    let stored = await this.#applyServerSide({ ...apply, live }, signal);
    if (!this.#isDryRun && (await migrateAfterApply(this.#tools, place, stored, signal)))
      stored = await this.#applyServerSide({ ...apply, live: stored }, signal);
    return this.#resultOf(stored, 'serverside-applied');
  }

  async #migrated(
    { resource, target, live, how }: OutgoingApply & { readonly live: KubeObject },
    signal: AbortSignal,
  ): Promise<KubeObject> {
    const place = { resource, name: namedObjectOf(target, resource) };
    const sent = await resolveManifest(target, live, how, signal);
    const patch = { type: 'apply', body: serverSideTarget(sent, live, this.#tools) } as const;
    const dry = (call: CheckedCall): WriteOptions => ({ ...this.#options(call, how), force: true, dryRun: true });
    const predict = (): Promise<KubeObject> =>
      this.#write(signal, (call) => this.#client.patch(resource, place.name, patch, dry(call)));
    const apply = { target: sent, live, from: how.adoptFrom, predict, isServed: servedVersions(this.discovery, live) };
    return migrateBeforeApply(this.#tools, place, apply, signal);
  }

  /** Replaces items of ours whose key was edited: a server-side apply would clash with them. */
  async #withoutDisplacedItems(
    { resource, target, live, how }: OutgoingApply & { readonly live: KubeObject },
    signal: AbortSignal,
  ): Promise<KubeObject> {
    const patch = displacedItemsPatch(await resolveManifest(target, live, how, signal), live, this.#tools);
    if (patch === undefined) return live;
    const sent = { ...patch, body: withResourceVersion(patch.body, live) };
    return this.#command('apply', signal, (call) =>
      this.#client.patch(resource, namedObjectOf(target, resource), sent, this.#options(call)),
    );
  }

  async #applyServerSide(
    { resource, target, live: known, how }: OutgoingApply,
    signal: AbortSignal,
  ): Promise<KubeObject> {
    const name = namedObjectOf(target, resource);
    let live = known;
    for (let attempt = 1; ; attempt += 1) {
      const wanted = serverSideTarget(await resolveManifest(target, live, how, signal), live, this.#tools);
      const body = live === null || how.buildTarget === undefined ? wanted : withResourceVersion(wanted, live);
      try {
        return await this.#command('apply', signal, (call) =>
          this.#client.patch(resource, name, { type: 'apply', body }, { ...this.#options(call, how), force: true }),
        );
      } catch (error) {
        if (how.buildTarget === undefined || !isConflict(error) || attempt === maxConflictAttempts) throw error;
        live = await this.#read(resource, name, signal);
      }
    }
  }

  async #replace({ resource, target, live, how }: OutgoingApply, signal: AbortSignal): Promise<ApplyResult> {
    const name = namedObjectOf(target, resource);
    const current = await this.#read(resource, name, signal);
    if (current === null) return this.create(target, signal, how);
    const inPlace = hasContents(resource);
    const compared = live ?? current;
    const replacement: Replacement = {
      target,
      isMerged: how.buildTarget !== undefined || recordAtVersion(target, current, this.#tools) !== undefined,
      isTaken: inPlace ? (fresh) => hasChangedMarks(compared, fresh, this.#deps.appOf) : undefined,
      read: () => this.#read(resource, name, signal),
      send: async (under, version) => {
        const merged = await resolveManifest(target, under, how, signal);
        const sent = withVersion(withRecord(merged, under, this.#tools), version);
        const send = (call: CheckedCall): Promise<KubeObject> =>
          this.#client.replace(resource, sent, this.#options(call, how));
        return inPlace ? this.#write(signal, send) : this.#command('replace', signal, send);
      },
    };
    if (inPlace) {
      const stored = await replaceObject(replacement, compared);
      this.#observe(stored);
      return { ...warned(stored), message: `${target.kind}/${target.metadata.name ?? ''} updated` };
    }
    this.#deps.kubectl?.count('replace');
    if (!how.force) return this.#resultOf(await replaceObject(replacement, current), 'replaced');
    const sent = await resolveManifest(target, current, how, signal);
    const made = await this.#recreate({ resource, target: sent }, signal);
    return this.#isDryRun ? made : { ...made, message: recreatedText(sent, shortName(sent)) };
  }

  /** Deletes and recreates an object; a dry run only checks whether the server would create it. */
  async #recreate({ resource, target }: OutgoingObject, signal: AbortSignal): Promise<ApplyResult> {
    const job = {
      resource,
      name: namedObjectOf(target, resource),
      target: withoutNulls(target),
      what: shortName(target),
    };
    if (!this.#isDryRun)
      return this.#resultOf(await this.#deps.pace.during(recreate(this.#tools, job, signal)), 'configured');
    await tryCreate(this.#tools, job, signal);
    return this.#resultOf(target, 'configured');
  }

  #command<T>(command: KubectlCommand, signal: AbortSignal, send: FencedSend<T>): Promise<T> {
    const { kubectl } = this.#deps;
    if (kubectl === undefined) return this.#write(signal, send);
    return this.#write(signal, (inner) => kubectl.run(command, () => send(inner)));
  }

  /** The choke point: every change passes here and is fenced last. */
  #write<T>(signal: AbortSignal, send: FencedSend<T>): Promise<T> {
    return this.#deps.pace.write(signal, () => this.#deps.fenced(signal, send));
  }

  async #read(resource: ApiResource, name: NamedObject, signal: AbortSignal): Promise<KubeObject | null> {
    return (await unlessNotFound(this.#deps.pace.read(this.#client.get(resource, name, { signal })))) ?? null;
  }

  async #permittedResource(object: KubeObject, signal: AbortSignal): Promise<ApiResource> {
    const resource = await this.#resource(object, signal);
    const refusal = this.#deps.denied(object, resource.namespaced);
    if (refusal !== undefined) throw new PolicyDenied(refusal);
    return resource;
  }

  /** The served resource of an object's kind; discovers again if the kind may be new. */
  async #resource(object: KubeObject, signal: AbortSignal): Promise<ApiResource> {
    const gk = gkOf(object);
    const version = versionOf(object.apiVersion);
    const fresh = this.#freshDiscovery;
    const known =
      findResource(this.discovery, gk, version) ?? (fresh === undefined ? undefined : findResource(fresh, gk, version));
    if (known !== undefined) return known;
    this.#freshDiscovery = await this.#deps.pace.read(this.#client.discover({ signal }));
    const found = findResource(this.#freshDiscovery, gk, version);
    if (found === undefined) throw new UnknownKind(gk.group, gk.kind, version);
    return found;
  }

  /** Without validation, the server drops unknown fields and does not warn, as for kubectl. */
  #options(call: CheckedCall, how?: Pick<ApplyOptions, 'validate'>): WriteOptions {
    const options = { ...call, fieldManager: this.#tools.fieldManager };
    return how?.validate === false ? { ...options, fieldValidation: 'Ignore' } : options;
  }

  #resultOf(object: KubeObject, verb: string): ApplyResult {
    this.#observe(object);
    return { ...warned(object), message: `${shortName(object)} ${verb}${this.#isDryRun ? ' (dry run)' : ''}` };
  }

  #observe(object: KubeObject): void {
    if (!this.#isDryRun && object.metadata.resourceVersion !== undefined) this.#deps.cluster.observe(object);
  }
}

/** kubectl's short name of an object: `deployment.apps/web`. */
export function shortName(object: KubeObject): string {
  const { group, kind } = gvkOf(object);
  return `${kind.toLowerCase()}${group === '' ? '' : `.${group}`}/${object.metadata.name ?? object.metadata.generateName ?? ''}`;
}
