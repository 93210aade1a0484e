import { defined, messageOf, newAbortController, UsageError, withDeadline } from '#base';
import type { Clock, RandomSource } from '#base';
import { diffObjects, isCustomResource } from '#diff';
import type { DiffRules } from '#diff';
import { healthOf } from '#health';
import { clientSideManager, defaultSettings, gkOf, isHook, keyOf, refOf, versionOf } from '#model';
import type { KubeObject, ObjectName, ResourceKey, ResourceRef, ResourceResult } from '#model';
import {
  canKindBeMissing,
  crdGroupKind,
  groupKindText,
  kindsDefinedBySync,
  pairObjects,
  planSync as planTasks,
  syncStep,
  terminateSync,
  unreadableWave,
} from '#sync';
import type { PlannedTask, SyncOptions, SyncOutcome, SyncRequest } from '#sync';
import { findResource } from '#kube';
import { reportingHealth } from './caller-health.ts';
import { checkSyncInputs } from './check-inputs.ts';
import { inNamespace, placedTargets, unknownHookType } from './inputs.ts';
import { Inventory } from './inventory.ts';
import { LiveReader } from './live-reader.ts';
import { OpenedWriter } from './open-writer.ts';
import { OwnerLabel } from './owner.ts';
import { SyncChanges } from './sync-changes.ts';
import { diffOnServer } from './server-diff.ts';
import { SyncWarnings } from './warnings.ts';
import type { ServerDiff, SyncInputs, SyncInventory, SyncReport } from './types.ts';

const defaultDeadlineMs = 600_000;
const terminationMs = 30_000;
/** Pause between two steps; doubles while nothing changes. */
const firstPauseMs = 200;
const maxPauseMs = 2000;

const defaultOptions: Omit<SyncOptions, 'dryRun'> = {
  prune: false,
  force: false,
  replace: false,
  serverSideApply: false,
  validate: true,
  skipHooks: false,
  pruneLast: false,
  applyOutOfSyncOnly: false,
  createNamespace: false,
  skipDryRunOnMissing: false,
  prunePropagationPolicy: 'Foreground',
  pruneConfirmed: false,
  waveDelayMs: 0,
  migrationManager: clientSideManager,
};

export interface SyncDeps {
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly warn: (message: string) => void;
}

/** The targets in their namespaces, and the live objects of the current step. */
interface SyncState {
  readonly targets: readonly KubeObject[];
  readonly live: ReadonlyMap<ResourceKey, KubeObject>;
  /** The objects of earlier syncs: only these may be pruned. */
  readonly earlier: ReadonlySet<ResourceKey>;
}

/** A sync over a writer: reads the live objects, runs steps, and waits between them. */
export class SyncRun {
  readonly #inputs: SyncInputs;
  readonly #deps: SyncDeps;
  readonly #warnings: SyncWarnings;
  readonly #reader: LiveReader;
  readonly #inventory: Inventory;
  readonly #changes: SyncChanges;
  readonly #namespace: string;
  readonly #owner: OwnerLabel;
  readonly #rules: DiffRules;
  readonly #startedAt: number;
  readonly #attempt: string;
  readonly #waves = new Map<string, number>();
  #results: readonly ResourceResult[] = [];
  #hasWarned = false;
  #state: SyncState = { targets: [], live: new Map(), earlier: new Set() };

  /** @throws UsageError for inputs that are no inputs of a sync. */
  constructor(inputs: SyncInputs, deps: SyncDeps) {
    checkSyncInputs(inputs);
    this.#inputs = inputs;
    this.#warnings = new SyncWarnings(inputs.onWarning, deps.warn);
    this.#deps = { ...deps, warn: (message) => this.#warnings.report({ source: 'sync', message }) };
    this.#reader = new LiveReader(inputs.writer, inputs.cache, this.#deps.warn);
    const { inventory, inventoryName: name = '', targets, writer } = inputs;
    this.#changes = new SyncChanges(inputs.writer.dryRun === true);
    this.#inventory = new Inventory(inventory, targets.length, { name, server: writer.server });
    this.#namespace = inputs.namespace ?? 'default';
    this.#owner = new OwnerLabel(inputs.owner);
    this.#rules = rulesOf(inputs);
    this.#startedAt = deps.clock.now();
    this.#attempt = `${this.#startedAt}-${Math.floor(deps.random.next() * 2 ** 32).toString(36)}`;
  }

  async plan(): Promise<readonly PlannedTask[]> {
    return this.#within(async (signal) => this.#located(await planTasks(await this.#request(signal, true))));
  }

  /** Predicts the apply of each target except hooks, by dry runs. */
  async diff(): Promise<readonly ServerDiff[]> {
    const { writer, options = {}, isSelected = isAny } = this.#inputs;
    if (!(writer instanceof OpenedWriter)) throw new UsageError('writer must be that of openWriter');
    return this.#within(async (signal) => {
      await this.#readState(signal);
      const how = { ...defaultOptions, dryRun: false, ...options };
      const awaitsKind = this.#awaitedKinds(how);
      const pairs = this.#paired().pairs.flatMap(({ target, live }) =>
        target !== null && isSelected(target)
          ? [{ target, live, refused: this.#owner.refusal(live), awaitsKind: awaitsKind(target) }]
          : [],
      );
      const namespaces = this.#createdNamespaces(how);
      return this.#located(await diffOnServer(writer, pairs, { rules: this.#rules, how, namespaces }, signal));
    });
  }

  /** Why a sync may start although the server does not serve the kind of a target. */
  #awaitedKinds(options: SyncOptions): (target: KubeObject) => string | undefined {
    const { discovery } = this.#inputs.writer;
    const expected = kindsDefinedBySync(this.#state.targets);
    return (target) => {
      const { apiVersion, kind } = target;
      if (findResource(discovery, gkOf(target), versionOf(apiVersion)) !== undefined) return undefined;
      if (expected.has(groupKindText(gkOf(target)))) return 'the definition of its kind is created first';
      return canKindBeMissing(target, options, expected) ? `${apiVersion} ${kind} is not served yet` : undefined;
    };
  }

  #createdNamespaces({ createNamespace }: SyncOptions): ReadonlySet<string> {
    const isNamespace = (target: KubeObject): boolean => target.kind === 'Namespace' && target.apiVersion === 'v1';
    const named = this.#state.targets.filter(isNamespace).map(({ metadata }) => metadata.name ?? '');
    return new Set(createNamespace ? [...named, this.#namespace] : named);
  }

  /** Runs steps until the sync is final. Beyond the deadline, it terminates the running hooks. */
  async run(): Promise<SyncReport> {
    const endsAt = this.#deps.clock.monotonic() + this.#limitMs();
    try {
      return await this.#within((signal) => this.#runSteps(signal));
    } catch (error) {
      if (this.#inputs.signal?.aborted === true || this.#deps.clock.monotonic() < endsAt) throw error;
      return this.#terminate(messageOf(error));
    }
  }

  async #runSteps(signal: AbortSignal): Promise<SyncReport> {
    let pauseMs = firstPauseMs;
    for (;;) {
      this.#changes.beginStep();
      const step = await syncStep(await this.#request(signal));
      const hasNews = JSON.stringify(step.results) !== JSON.stringify(this.#results);
      const needsNoPause = step.results.length > this.#results.length && !this.#changes.hasWritten;
      this.#results = step.results;
      const outcome = this.#reportOf(step);
      await this.#reportStep(outcome, signal);
      if (outcome.phase !== 'Running') return outcome;
      if (needsNoPause) continue;
      pauseMs = hasNews ? firstPauseMs : Math.min(2 * pauseMs, maxPauseMs);
      await this.#deps.clock.sleep(pauseMs, signal);
    }
  }

  /** A fault of the caller's function must not leave a sync half done. */
  async #reportStep(outcome: SyncReport, signal: AbortSignal): Promise<void> {
    try {
      await this.#inputs.onStep?.(outcome);
    } catch (error) {
      this.#deps.warn(`onStep failed: ${messageOf(error)}`);
    }
    signal.throwIfAborted();
  }

  async #terminate(why: string): Promise<SyncReport> {
    const { signal } = newAbortController();
    const deadline = { clock: this.#deps.clock, limitMs: terminationMs, what: 'terminating the sync' };
    const outcome = await withDeadline(signal, deadline, async (own) => terminateSync(await this.#request(own)));
    return this.#reportOf({ ...outcome, message: `${outcome.message}: ${why}` });
  }

  #reportOf(outcome: SyncOutcome): SyncReport {
    const results = this.#located(outcome.results).map((result) => ({ ...result, changed: this.#changes.has(result) }));
    return { ...outcome, results, inventory: this.#inventoryAfter(outcome) };
  }

  /** Entries with the namespaces of their objects: "" for cluster-scoped ones, in all reports. */
  #located<T extends ResourceRef>(entries: readonly T[]): readonly T[] {
    const scopes = scopesOf(this.#state.targets);
    const { discovery } = this.#inputs.writer;
    return entries.map((entry) => {
      const isNamespaced = findResource(discovery, entry)?.namespaced ?? scopes.get(groupKindText(entry)) ?? true;
      const namespace = isNamespaced ? entry.namespace || this.#namespace : '';
      return namespace === entry.namespace ? entry : { ...entry, namespace };
    });
  }

  #inventoryAfter({ phase, results }: SyncOutcome): SyncInventory {
    const { dryRun, discovery } = this.#inputs.writer;
    const isComplete = phase === 'Succeeded';
    const { isSelected = isAny } = this.#inputs;
    const isForeign = (object: KubeObject): boolean => this.#owner.whyKept(object) !== undefined;
    const facts = {
      ...this.#state,
      results,
      isComplete,
      isSelected,
      isForeign,
      namespace: this.#namespace,
      discovery,
    };
    return dryRun === true ? this.#inventory.before() : this.#inventory.after(facts);
  }

  #limitMs(): number {
    return this.#inputs.deadlineMs ?? defaultDeadlineMs;
  }

  #within<T>(body: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const parent = this.#inputs.signal ?? newAbortController().signal;
    return withDeadline(parent, { clock: this.#deps.clock, limitMs: this.#limitMs(), what: 'the sync' }, body);
  }

  /** @param compares whether it matters which objects differ */
  async #request(signal: AbortSignal, compares = this.#inputs.options?.applyOutOfSyncOnly): Promise<SyncRequest> {
    const { health, revision = '', options } = this.#inputs;
    const { clock, warn } = this.#deps;
    const { targets, live } = await this.#readState(signal);
    const { pairs, hooks, liveHooks } = this.#paired();
    const rules = compares === true ? await this.#rulesWithSchemas(signal) : this.#rules;
    const wanted = new Set(targets.map(keyOf));
    const liveTargets = new Map([...live].filter(([key]) => wanted.has(key)));
    const writer = this.#owner.guard(this.#warnings.reporting(this.#changes.noting(this.#reader.writer)), liveTargets);
    return {
      resources: pairs.map((pair) => ({
        ...pair,
        modified: diffObjects(pair.target, pair.live, rules).modified,
      })),
      hooks,
      liveHooks,
      options: { ...defaultOptions, ...options, dryRun: this.#inputs.writer.dryRun === true },
      destinationNamespace: this.#namespace,
      revision,
      startedAt: this.#startedAt,
      attempt: this.#attempt,
      results: this.#results,
      isSelected: this.#inputs.isSelected ?? isAny,
      health:
        health === undefined ? (object) => healthOf(object, defaultSettings) : reportingHealth(health, this.#warnings),
      canPrune: () => true,
      prunesDefinitions: this.#inputs.pruneDefinitions === true,
      otherOwner: (object) => this.#owner.whyKept(object),
      namespaceModifier: (namespace) => (namespace === null ? namespaceObject(this.#namespace) : null),
      writer,
      waveAppliedAt: (wave) => this.#waveAppliedAt(wave),
      releaseSlotWhile: (work) => work,
      warn: (message, error) => warn(`${message}: ${messageOf(error)}`),
      clock,
      signal,
    };
  }

  /** Only their schemas tell which fields of custom resources are defaults of the server. */
  async #rulesWithSchemas(signal: AbortSignal): Promise<DiffRules> {
    const { writer } = this.#inputs;
    const custom = this.#state.targets.filter(isCustomResource).map(({ apiVersion }) => apiVersion);
    if (!(writer instanceof OpenedWriter) || custom.length === 0) return this.#rules;
    return { ...this.#rules, schemas: (await writer.schemas(custom, signal)).kinds };
  }

  /** A live object that only a hook names is not ours to prune: others may have created it. */
  #paired(): ReturnType<typeof pairObjects> {
    const { targets, live, earlier } = this.#state;
    const { discovery } = this.#inputs.writer;
    const paired = pairObjects(targets, live, this.#namespace, (gk) => findResource(discovery, gk)?.namespaced);
    const isEarlier = (object: KubeObject): boolean =>
      earlier.has(keyOf(object)) && this.#inventory.isOurs(keyOf(object), object);
    const isOurs = (pair: (typeof paired.pairs)[number]): boolean =>
      pair.target !== null || pair.live === null || isHook(pair.live) || isEarlier(pair.live);
    return { ...paired, pairs: paired.pairs.filter(isOurs) };
  }

  /** New kinds are discovered first: they decide about the namespaces of targets. */
  async #readState(signal: AbortSignal): Promise<SyncState> {
    const { targets: given, writer } = this.#inputs;
    await writer.refresh?.(given, signal);
    const targets = this.#owner.labelled(placedTargets(given, this.#namespace, writer.discovery));
    this.#warnOfDefault(targets);
    for (const target of targets) this.#warnOf(target);
    const earlier = this.#earlier();
    const read = await this.#readLive([...targets, ...earlier], signal);
    const wanted = new Set(targets.map(keyOf));
    const live = new Map([...read].filter(([key, object]) => wanted.has(key) || this.#inventory.isOurs(key, object)));
    this.#state = { targets, live, earlier: new Set(earlier.map(keyOf)) };
    return this.#state;
  }

  /** Once: an object without a namespace is easily meant for another one than "default". */
  #warnOfDefault(placed: readonly KubeObject[]): void {
    if (this.#hasWarned || this.#inputs.namespace !== undefined) return;
    const isMoved = (target: KubeObject, i: number): boolean =>
      (this.#inputs.targets[i]?.metadata.namespace ?? '') === '' && (target.metadata.namespace ?? '') !== '';
    const moved = placed.filter(isMoved);
    const [first] = moved;
    if (first === undefined) return;
    this.#hasWarned = true;
    const others = moved.length === 1 ? '' : ` and ${moved.length - 1} more`;
    this.#deps.warn(
      `${first.kind} ${first.metadata.name ?? ''}${others} without a namespace: "default" is used, as namespace is not set`,
    );
  }

  /** As in Argo CD, a misspelt hook is left out, and a misspelt wave counts as absent. */
  #warnOf(target: KubeObject): void {
    const [type, wave] = [unknownHookType(target), unreadableWave(target)];
    const warn = (message: string): void => this.#warnings.report({ source: 'sync', message, object: refOf(target) });
    if (type !== undefined)
      warn(`it is left out: "${type}" is no hook type (PreSync, Sync, PostSync, SyncFail or Skip)`);
    if (wave !== undefined)
      warn(`its wave is ignored: "${wave.value}" (${wave.name}) is not a whole number of 64 bits`);
  }

  /** The objects that earlier syncs have applied, by `known` and the inventory. */
  #earlier(): readonly ObjectName[] {
    const names = [...(this.#inputs.known ?? []), ...this.#inventory.names()];
    return names.map((object) => inNamespace(object, this.#namespace, this.#inputs.writer.discovery));
  }

  /** Reads the objects, and the hooks that this sync has created. */
  #readLive(objects: readonly ObjectName[], signal: AbortSignal): Promise<ReadonlyMap<ResourceKey, KubeObject>> {
    const created = this.#results.filter(({ hookType }) => hookType !== undefined).map(nameOfResult);
    return this.#reader.read([...objects, ...created], signal);
  }

  #waveAppliedAt(wave: string): number {
    const at = this.#waves.get(wave) ?? this.#deps.clock.monotonic();
    this.#waves.set(wave, at);
    return at;
  }
}

/** The rules by which the sync sends. */
function rulesOf({ diff, options = {}, writer }: SyncInputs): DiffRules {
  const rules = diff ?? { settings: defaultSettings, ignoreDifferences: [] };
  const { serverSideApply, replace } = options;
  const { migrationManager: adoptFrom } = { ...defaultOptions, ...options };
  return { ...rules, ...defined({ serverSideApply, replace, adoptFrom, fieldManager: writer.fieldManager }) };
}

/** Whether the kinds that targets define are namespaced: the server may not serve them yet. */
function scopesOf(targets: readonly KubeObject[]): ReadonlyMap<string, boolean> {
  return new Map(
    targets.flatMap((target) => {
      const name = crdGroupKind(target);
      const { scope } = (target['spec'] ?? {}) as { readonly scope?: unknown };
      return name === undefined ? [] : [[name, scope !== 'Cluster'] as const];
    }),
  );
}

function isAny(): boolean {
  return true;
}

function nameOfResult({ group, version, kind, namespace, name }: ResourceResult): ObjectName {
  const metadata = namespace === '' ? { name } : { name, namespace };
  return { apiVersion: group === '' ? version : `${group}/${version}`, kind, metadata };
}

function namespaceObject(name: string): KubeObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
}
