import { deepEqual, formatPointer, goJson, isObject, messageOf, omit } from '#base';
import type { Json, JsonObject } from '#base';
import { clientSideApplyPatch, diffDryRun, diffObjects, dryRunTarget } from '#diff';
import type { DiffResult, DiffRules } from '#diff';
import { KubeApiError, KubeConnectionError } from '#kube';
import type { KubeClient, Patch } from '#kube';
import { annotations, fieldManager, jsonOf } from '#model';
import type { ApiResource, KubeObject } from '#model';
import { changedAt, isList, leavesOf, othersFor, valueAt } from './places.ts';
import type { Steps } from './places.ts';
import type { Tally } from './tally.ts';

export interface TrialWorld {
  readonly client: KubeClient;
  readonly resource: ApiResource;
  readonly signal: AbortSignal;
  readonly tally: Tally;
  /** Rules of client-side apply, and of server-side apply with the schemas that the server publishes. */
  readonly rules: { readonly client: DiffRules; readonly server: DiffRules };
  /** The words that the server publishes for a place. */
  readonly wordsAt: (path: Steps) => readonly string[];
}

/** One thing that somebody did: the manifest, what was applied last, and what is in the cluster now. */
interface Case {
  readonly what: string;
  readonly path: Steps;
  readonly target: KubeObject;
  readonly last: KubeObject;
  readonly live: KubeObject;
}

/** How it is compared, and whether it is different in truth. */
type Verdict = readonly [compare: () => DiffResult, isTrue: boolean];

const atRest = 'as applied';
const somebody = 'kubectl-edit';

/**
 * One object on a real API server, of which one value after the other is changed, removed and added: in Git, and in the cluster. All that is found is
 * compared with what the server does when the manifest is applied, server-side as well as client-side.
 */
export class LeafTrial {
  readonly #world: TrialWorld;
  readonly #target: KubeObject;
  /** As it was applied first, and as it is now. */
  #first: KubeObject;
  #live: KubeObject;

  private constructor(world: TrialWorld, target: KubeObject, live: KubeObject) {
    this.#world = world;
    this.#target = target;
    this.#first = live;
    this.#live = live;
  }

  /** Applies the manifest; a KubeApiError when the server does not take it. */
  static async begin(world: TrialWorld, target: KubeObject): Promise<LeafTrial | KubeApiError> {
    const trial = new LeafTrial(world, target, target);
    const live = await trial.#apply(target, 'for good');
    if (live instanceof KubeApiError) return live;
    trial.#first = live;
    trial.#live = live;
    return trial;
  }

  /** What is different right after the manifest was applied: nothing shall be. */
  async atRest(): Promise<void> {
    const target = this.#target;
    await this.#judge({ what: atRest, path: [], target, last: target, live: this.#live }, 'dry run');
  }

  async leaf(path: Steps): Promise<void> {
    await this.#removedInGit(path);
    const other = await this.#changedInGit(path);
    if (valueAt(jsonOf(this.#live), path) === undefined) {
      this.#world.tally.count('somebody: the server stores it elsewhere');
      return;
    }
    const pointer = formatPointer(path.map(String));
    await this.#bySomebody(path, 'changed by somebody', { op: 'replace', path: pointer, value: other }, other);
    await this.#bySomebody(path, 'removed by somebody', { op: 'remove', path: pointer }, undefined);
  }

  /** One more item in a list, or one more key in a map, by somebody. */
  async holder(path: Steps): Promise<void> {
    const there = valueAt(jsonOf(this.#live), path);
    const wanted = valueAt(jsonOf(this.#target), path);
    const more = isList(there) ? itemsLike(there.at(-1) ?? null) : isMap(wanted) ? [firstOf(wanted)] : [];
    const step = isList(there) ? '-' : 'other';
    for (const value of more) {
      const pointer = formatPointer([...path.map(String), step]);
      const isDone = await this.#bySomebody(path, 'added by somebody', { op: 'add', path: pointer, value }, value);
      if (isDone) return;
    }
  }

  async #removedInGit(path: Steps): Promise<void> {
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

  /** Gives the value that the server takes, or one that it does not. */
  async #changedInGit(path: Steps): Promise<Json> {
    const [live, last] = [this.#live, this.#target];
    const candidates = othersFor(valueAt(jsonOf(last), path) ?? null, this.#world.wordsAt(path));
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

  /** True when the server did it. */
  async #bySomebody(path: Steps, what: string, step: JsonObject, value: Json | undefined): Promise<boolean> {
    const { tally } = this.#world;
    const target = this.#target;
    const before = this.#live;
    const after = await this.#patch({ type: 'json', body: [step] }, somebody);
    if (after instanceof KubeApiError) {
      tally.refused(what, after);
      if (what !== 'added by somebody') await this.#madeAnew(path, value);
      return false;
    }
    this.#live = after;
    const isNone = deepEqual(contentOf(after), contentOf(before));
    if (isNone) tally.count(`${what}, no change to the server`);
    const one = { what, path, target, last: target, live: after };
    await this.#settle(isNone ? await this.#apply(target, 'for good') : await this.#judge(one, 'for good'));
    return true;
  }

  /** What the server lets nobody change, somebody has deleted and made anew; here under another name, and only as far as the answer to that. */
  async #madeAnew(path: Steps, value: Json | undefined): Promise<void> {
    const { client, resource, signal, tally } = this.#world;
    const target = this.#target;
    const { name = '' } = target.metadata;
    const other = kube(changedAt(jsonOf(target), path, value));
    const body = { ...other, metadata: { ...other.metadata, name: `${name}-anew` } };
    const made = await orRefusal(client.create(resource, body, { signal, dryRun: true, fieldManager: somebody }));
    if (made instanceof KubeApiError) {
      tally.refused('made anew by somebody', made);
      return;
    }
    const live = withoutManagers({ ...made, metadata: { ...made.metadata, name } });
    const compare = (): DiffResult => diffObjects(target, noted(live, target), this.#world.rules.client);
    this.#note('client-side', { what: 'made anew by somebody', path }, [compare, true]);
  }

  /** Compares in all ways, and applies the manifest; gives what the server answered. */
  async #judge(one: Case, how: 'dry run' | 'for good'): Promise<KubeObject | KubeApiError> {
    const { tally, rules } = this.#world;
    const { what, target, last, live } = one;
    const known = noted(withoutManagers(live), last);
    const isChanged = await this.#changes(target, known);
    const predicted = await this.#apply(target, how);
    const isRefused = predicted instanceof KubeApiError;
    if (isRefused) tally.refused(what, predicted);
    // What the server refuses would change something: what changes nothing is never refused.
    const isTrue = isRefused || !deepEqual(contentOf(predicted), contentOf(live));
    this.#note('server-side', one, [() => diffObjects(target, live, rules.server), isTrue]);
    this.#note('client-side', one, [() => diffObjects(target, known, rules.client), isRefused || isChanged]);
    if (isRefused) return predicted;
    const answer = { target, live, predicted };
    for (const mutations of ['left out', 'included'] as const) {
      const by = mutations === 'included' ? 'server-side diff with webhooks' : 'server-side diff';
      this.#note(by, one, [() => diffDryRun(answer, rules.server, mutations), isTrue]);
    }
    return predicted;
  }

  /** Would a client-side apply change anything? */
  async #changes(target: KubeObject, known: KubeObject): Promise<boolean> {
    const patch = clientSideApplyPatch(target, known);
    if (patch === undefined) return false;
    const after = await this.#patch(patch, 'kubectl-client-side-apply', true);
    return after instanceof KubeApiError || !deepEqual(contentOf(after), contentOf(known));
  }

  #note(how: string, { what, path }: Pick<Case, 'what' | 'path'>, [compare, isTrue]: Verdict): void {
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

  /** The answer to an apply of the manifest: all is as it was, or it is made so. */
  async #settle(answer: KubeObject | KubeApiError): Promise<void> {
    if (!(answer instanceof KubeApiError)) this.#live = answer;
    const isBack = !(answer instanceof KubeApiError) && deepEqual(contentOf(answer), contentOf(this.#first));
    if (isBack) return;
    this.#world.tally.count('(put back by hand)');
    const { client, resource, signal } = this.#world;
    const metadata = omit(this.#first.metadata, 'managedFields', 'resourceVersion', 'uid');
    const body = { ...this.#first, metadata };
    await orRefusal(client.replace(resource, body, { signal, fieldManager: somebody }));
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
    // The server itself falls over some manifests (a Job with a success policy and without completions), and says no more than that.
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

/** Items that are like one of a list, but for one value. */
function itemsLike(item: Json): readonly Json[] {
  const others = leavesOf(item).map((path) => othersFor(valueAt(item, path) ?? null).map((other) => ({ path, other })));
  const firsts = others.flatMap((list) => list.slice(0, 1));
  return firsts.slice(0, 4).map(({ path, other }) => changedAt(item, path, other));
}

/** As if it had been applied client-side. */
function noted(live: KubeObject, last: KubeObject): KubeObject {
  const note = { ...live.metadata.annotations, [annotations.lastApplied]: goJson(jsonOf(last)) };
  return { ...live, metadata: { ...live.metadata, annotations: note } };
}

function withoutManagers(live: KubeObject): KubeObject {
  return { ...live, metadata: omit(live.metadata, 'managedFields') };
}

const ofTheServer = new Set(['managedFields', 'resourceVersion', 'generation', 'creationTimestamp', 'uid']);

/** All that somebody may have said of an object. */
function contentOf(object: KubeObject): Json {
  const said = Object.entries(object.metadata).filter(([key]) => !ofTheServer.has(key) && key !== 'annotations');
  const notes = Object.entries(object.metadata.annotations ?? {}).filter(([key]) => key !== annotations.lastApplied);
  const rest = Object.entries(jsonOf(object) as JsonObject).filter(([key]) => key !== 'status' && key !== 'metadata');
  const metadata = Object.fromEntries<Json>(said);
  return { ...Object.fromEntries(rest), metadata, annotations: Object.fromEntries(notes) };
}
