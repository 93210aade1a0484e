import { deepEqual, formatPointer, goJson, isObject, messageOf, omit } from '#base';
import type { Json, JsonObject } from '#base';
import { clientSideApplyPatch, diffDryRun, diffObjects, dryRunTarget } from '#diff';
import type { DiffResult, DiffRules } from '#diff';
import { KubeApiError, KubeConnectionError } from '#kube';
import type { KubeClient, Patch } from '#kube';
import { annotations, fieldManager, jsonOf } from '#model';
import type { ApiResource, KubeObject } from '#model';
import { changedAt, isList, leavesOf, othersFor, valueAtPath } from './places.ts';
import type { ValuePath } from './places.ts';
import type { TrialTally } from './tally.ts';

export interface TrialWorld {
  readonly client: KubeClient;
  readonly resource: ApiResource;
  readonly signal: AbortSignal;
  readonly tally: TrialTally;
  /** Rules for client-side apply, and for server-side apply with the schemas of the server. */
  readonly rules: { readonly client: DiffRules; readonly server: DiffRules };
  /** The enum values that the server publishes for a path. */
  readonly wordsAt: (path: ValuePath) => readonly string[];
}

/** Input of a comparison: the manifest, the last applied one, and the live object. */
interface ComparisonCase {
  readonly what: string;
  readonly path: ValuePath;
  readonly target: KubeObject;
  readonly last: KubeObject;
  readonly live: KubeObject;
}

/** A comparison, and whether there is really a difference. */
type ComparisonVerdict = readonly [compare: () => DiffResult, isTrue: boolean];

const atRest = 'as applied';
const otherManager = 'kubectl-edit';

/**
 * Changes, removes and adds each value of one object on a real API server, in Git and in the
 * cluster. Each comparison must agree with what a server-side or client-side apply of the manifest
 * does.
 */
export class LeafTrial {
  readonly #world: TrialWorld;
  readonly #target: KubeObject;
  /** The object after the first apply, and the current one. */
  #first: KubeObject;
  #live: KubeObject;

  private constructor(world: TrialWorld, target: KubeObject, live: KubeObject) {
    this.#world = world;
    this.#target = target;
    this.#first = live;
    this.#live = live;
  }

  /** Applies the manifest. Returns a KubeApiError if the server refuses it. */
  static async begin(world: TrialWorld, target: KubeObject): Promise<LeafTrial | KubeApiError> {
    const trial = new LeafTrial(world, target, target);
    const live = await trial.#apply(target, 'for good');
    if (live instanceof KubeApiError) return live;
    trial.#first = live;
    trial.#live = live;
    return trial;
  }

  /** Checks that there is no difference right after the apply. */
  async atRest(): Promise<void> {
    const target = this.#target;
    await this.#judge({ what: atRest, path: [], target, last: target, live: this.#live }, 'dry run');
  }

  async leaf(path: ValuePath): Promise<void> {
    await this.#removedInGit(path);
    const other = await this.#changedInGit(path);
    if (valueAtPath(jsonOf(this.#live), path) === undefined) {
      this.#world.tally.count('another manager: the server stores it elsewhere');
      return;
    }
    const pointer = formatPointer(path.map(String));
    await this.#byOtherManager(
      path,
      'changed by another manager',
      { op: 'replace', path: pointer, value: other },
      other,
    );
    await this.#byOtherManager(path, 'removed by another manager', { op: 'remove', path: pointer }, undefined);
  }

  /** Adds an item to a list or a key to a map, as another field manager. */
  async holder(path: ValuePath): Promise<void> {
    const there = valueAtPath(jsonOf(this.#live), path);
    const wanted = valueAtPath(jsonOf(this.#target), path);
    const more = isList(there) ? itemsLike(there.at(-1) ?? null) : isMap(wanted) ? [firstOf(wanted)] : [];
    const step = isList(there) ? '-' : 'other';
    for (const value of more) {
      const pointer = formatPointer([...path.map(String), step]);
      const isDone = await this.#byOtherManager(
        path,
        'added by another manager',
        { op: 'add', path: pointer, value },
        value,
      );
      if (isDone) return;
    }
  }

  async #removedInGit(path: ValuePath): Promise<void> {
    const target = this.#target;
    const less = kube(changedAt(jsonOf(target), path, undefined));
    const without = { what: 'removed from Git', path, target: less, last: target, live: this.#live };
    const removed = await this.#judge(without, 'for good');
    if (removed instanceof KubeApiError) return;
    this.#live = removed;
    await this.#settle(
      await this.#judge({ what: 'added in Git', path, target, last: less, live: removed }, 'for good'),
    );
  }

  /** Changes a value in Git. Returns a value that the server accepts, if it finds one. */
  async #changedInGit(path: ValuePath): Promise<Json> {
    const [live, last] = [this.#live, this.#target];
    const candidates = othersFor(valueAtPath(jsonOf(last), path) ?? null, this.#world.wordsAt(path));
    const changed = (other: Json): KubeObject => kube(changedAt(jsonOf(last), path, other));
    let taken = candidates[0] ?? null;
    for (const other of candidates) {
      const isTaken = !((await this.#apply(changed(other), 'dry run')) instanceof KubeApiError);
      if (!isTaken) continue;
      taken = other;
      break;
    }
    await this.#judge({ what: 'changed in Git', path, target: changed(taken), last, live }, 'dry run');
    return taken;
  }

  /** Patches the object as another field manager. Returns false if the server refuses. */
  async #byOtherManager(path: ValuePath, what: string, step: JsonObject, value: Json | undefined): Promise<boolean> {
    const { tally } = this.#world;
    const target = this.#target;
    const before = this.#live;
    const after = await this.#patch({ type: 'json', body: [step] }, otherManager);
    if (after instanceof KubeApiError) {
      tally.refused(what, after);
      if (what !== 'added by another manager') await this.#recreated(path, value);
      return false;
    }
    this.#live = after;
    const isNone = deepEqual(contentOf(after), contentOf(before));
    if (isNone) tally.count(`${what}, no change to the server`);
    const one = { what, path, target, last: target, live: after };
    await this.#settle(isNone ? await this.#apply(target, 'for good') : await this.#judge(one, 'for good'));
    return true;
  }

  /**
   * For immutable fields: recreates the object with another value, as a dry run under another name.
   */
  async #recreated(path: ValuePath, value: Json | undefined): Promise<void> {
    const { client, resource, signal, tally } = this.#world;
    const target = this.#target;
    const { name = '' } = target.metadata;
    const other = kube(changedAt(jsonOf(target), path, value));
    const body = { ...other, metadata: { ...other.metadata, name: `${name}-new` } };
    const made = await orRefusal(client.create(resource, body, { signal, dryRun: true, fieldManager: otherManager }));
    if (made instanceof KubeApiError) {
      tally.refused('recreated by another manager', made);
      return;
    }
    const live = withoutManagers({ ...made, metadata: { ...made.metadata, name } });
    const compare = (): DiffResult => diffObjects(target, noted(live, target), this.#world.rules.client);
    this.#note('client-side', { what: 'recreated by another manager', path }, [compare, true]);
  }

  /** Runs all comparisons, applies the manifest, and returns the answer of the server. */
  async #judge(one: ComparisonCase, how: 'dry run' | 'for good'): Promise<KubeObject | KubeApiError> {
    const { tally, rules } = this.#world;
    const { what, target, last, live } = one;
    const known = noted(withoutManagers(live), last);
    const isChanged = await this.#changes(target, known);
    const predicted = await this.#apply(target, how);
    const isRefused = predicted instanceof KubeApiError;
    if (isRefused) tally.refused(what, predicted);
    // A refused apply would change something: the server never refuses a no-op.
    const isTrue = isRefused || !deepEqual(contentOf(predicted), contentOf(live));
    this.#note('server-side', one, [() => diffObjects(target, live, rules.server), isTrue]);
    this.#note('client-side', one, [() => diffObjects(target, known, rules.client), isRefused || isChanged]);
    if (isRefused) return predicted;
    const answer = { target, live, predicted };
    for (const mutations of ['excluded', 'included'] as const) {
      const by = mutations === 'included' ? 'server-side diff with webhooks' : 'server-side diff';
      this.#note(by, one, [() => diffDryRun(answer, rules.server, mutations), isTrue]);
    }
    return predicted;
  }

  /** Whether a client-side apply would change anything. */
  async #changes(target: KubeObject, known: KubeObject): Promise<boolean> {
    const patch = clientSideApplyPatch(target, known);
    if (patch === undefined) return false;
    const after = await this.#patch(patch, 'kubectl-client-side-apply', true);
    return after instanceof KubeApiError || !deepEqual(contentOf(after), contentOf(known));
  }

  #note(
    how: string,
    { what, path }: Pick<ComparisonCase, 'what' | 'path'>,
    [compare, isTrue]: ComparisonVerdict,
  ): void {
    const { tally } = this.#world;
    const { apiVersion, kind, metadata } = this.#target;
    const place = `${apiVersion} ${kind}/${metadata.name ?? ''} ${path.join('.')}`;
    tally.count(`${how}: ${what}, ${isTrue ? 'different' : 'no difference'}`);
    try {
      const { modified, paths } = compare();
      if (what === atRest && isTrue)
        tally.wrong.push(`${how}: ${what}, an apply would change it: ${place}: ${paths.join(' ')}`);
      if (modified && !isTrue)
        tally.wrong.push(`${how}: ${what}, no difference, but found: ${place}: ${paths.join(' ')}`);
      if (!modified && isTrue) tally.wrong.push(`${how}: ${what}, missed: ${place}`);
    } catch (error) {
      tally.wrong.push(`${how}: ${what}: ${place}: ${messageOf(error)}`);
    }
  }

  /** Takes the answer of an apply, and restores the object if that did not. */
  async #settle(answer: KubeObject | KubeApiError): Promise<void> {
    if (!(answer instanceof KubeApiError)) this.#live = answer;
    const isBack = !(answer instanceof KubeApiError) && deepEqual(contentOf(answer), contentOf(this.#first));
    if (isBack) return;
    this.#world.tally.count('(put back by hand)');
    const { client, resource, signal } = this.#world;
    const metadata = omit(this.#first.metadata, 'managedFields', 'resourceVersion', 'uid');
    const body = { ...this.#first, metadata };
    await orRefusal(client.replace(resource, body, { signal, fieldManager: otherManager }));
    const again = await this.#apply(this.#target, 'for good');
    if (!(again instanceof KubeApiError)) this.#live = again;
  }

  #apply(target: KubeObject, how: 'dry run' | 'for good'): Promise<KubeObject | KubeApiError> {
    const body = dryRunTarget(target);
    const { signal } = this.#world;
    return this.#send(
      { type: 'apply', body },
      { signal, fieldManager, force: true, dryRun: how === 'dry run', fieldValidation: 'Ignore' },
    );
  }

  #patch(patch: Patch, manager: string, dryRun = false): Promise<KubeObject | KubeApiError> {
    return this.#send(patch, { signal: this.#world.signal, fieldManager: manager, dryRun });
  }

  #send(patch: Patch, options: Parameters<KubeClient['patch']>[3]): Promise<KubeObject | KubeApiError> {
    const { client, resource } = this.#world;
    const { name = '', namespace = '' } = this.#target.metadata;
    return orRefusal(client.patch(resource, { namespace, name }, patch, options));
  }
}

async function orRefusal(answer: Promise<KubeObject>): Promise<KubeObject | KubeApiError> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof KubeApiError) return error;
    // The server panics on some manifests (a Job with a success policy and without completions) and
    // closes the connection.
    if (error instanceof KubeConnectionError)
      return new KubeApiError({ code: 500, reason: 'Panic', message: 'the server has fallen over it' }, 'PATCH');
    throw error;
  }
}

function kube(value: Json): KubeObject {
  return value as KubeObject & Json;
}

function isMap(value: Json | undefined): value is JsonObject {
  return isObject(value) && Object.values(value).every((member) => typeof member === 'string');
}

function firstOf(map: JsonObject): Json {
  return Object.values(map)[0] ?? null;
}

/** Copies of a list item that differ in one value. */
function itemsLike(item: Json): readonly Json[] {
  const others = leavesOf(item).map((path) =>
    othersFor(valueAtPath(item, path) ?? null).map((other) => ({ path, other })),
  );
  const firsts = others.flatMap((list) => list.slice(0, 1));
  return firsts.slice(0, 4).map(({ path, other }) => changedAt(item, path, other));
}

/** Adds the last-applied annotation of a client-side apply. */
function noted(live: KubeObject, last: KubeObject): KubeObject {
  const note = { ...live.metadata.annotations, [annotations.lastApplied]: goJson(jsonOf(last)) };
  return { ...live, metadata: { ...live.metadata, annotations: note } };
}

function withoutManagers(live: KubeObject): KubeObject {
  return { ...live, metadata: omit(live.metadata, 'managedFields') };
}

const ofTheServer = new Set(['managedFields', 'resourceVersion', 'generation', 'creationTimestamp', 'uid']);

/** The object without status and without fields of the server. */
function contentOf(object: KubeObject): Json {
  const said = Object.entries(object.metadata).filter(([key]) => !ofTheServer.has(key) && key !== 'annotations');
  const notes = Object.entries(object.metadata.annotations ?? {}).filter(([key]) => key !== annotations.lastApplied);
  const rest = Object.entries(jsonOf(object) as JsonObject).filter(([key]) => key !== 'status' && key !== 'metadata');
  const metadata = Object.fromEntries<Json>(said);
  return { ...Object.fromEntries(rest), metadata, annotations: Object.fromEntries(notes) };
}
