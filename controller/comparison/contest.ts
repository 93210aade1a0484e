import { hashJson } from '#base';
import type { ManagedPair } from '#compare';
import { annotationOf, annotations, fieldManager, jsonOf, labelOf, parseTrackingId, refOf } from '#model';
import type { ApplicationCondition, KubeObject, ResourceKey, ResourceRef, TrackingSettings } from '#model';
import { lastWriterOf } from './last-writer.ts';

/**
 * Detects two writers that fight over one object. Pure rules; times are monotonic milliseconds.
 *
 * An entry begins with a write of this process. The write is undone when a later comparison finds
 * the object different again, replaced by one with another UID, or recreated after a prune. Only
 * undos of self-heal count, once per own write; unless another controller of Applications did it,
 * only within a minute. Three by the same rival within 15 minutes start a contest. A deletion never
 * counts: nothing shows who deleted, and recreating a missing object overwrites no change.
 *
 *              self-heal             3 undos
 *   (no entry) ─────────▶ watched ───────────▶ contested ──▶ (no entry)
 *       ▲                    │              30 minutes without an undo, or a new desired state
 *       └────────────────────┘ 15 minutes without a write, or a new desired state
 *
 * An object that differs although it is as our write left it needs no second write: the API server
 * keeps its fields. This contest is over as soon as the object is equal or differs elsewhere.
 */
export type ContestMemory = ReadonlyMap<ResourceKey, ContestEntry>;

export const contestRules = {
  /** Undos that start a contest, and the time within which they must happen. */
  undos: 3,
  windowMs: 15 * 60_000,
  /** Controllers react within seconds; a person usually takes longer. */
  reactionMs: 60_000,
  /** How long self-heal waits after its last write, against another controller of Applications. */
  pauseMs: 10 * 60_000,
  quietMs: 30 * 60_000,
  /** Objects of one Application; more are not watched. */
  maxObjects: 500,
} as const;

/** A write of this process to one object; `stored` is null after a deletion. */
export interface OwnWrite {
  readonly key: ResourceKey;
  /** The uid of the object written or deleted. */
  readonly uid: string;
  readonly stored: KubeObject | null;
  /** The manifest of the object; null: it has none. */
  readonly target: KubeObject | null;
  /** Otherwise only the API server can be the rival. */
  readonly isSelfHeal: boolean;
  /** By the monotonic clock. */
  readonly at: number;
}

export type Rival =
  /** The API server keeps another value than was sent. */
  | { readonly kind: 'server' }
  | { readonly kind: 'application' | 'installation'; readonly name: string }
  /** Writes with our field manager and our tracking. */
  | { readonly kind: 'twin' }
  | { readonly kind: 'manager'; readonly name: string; readonly subresource: string }
  /** Removes fields, which leaves no trace in managedFields. */
  | { readonly kind: 'unrecorded' };

interface Contest {
  readonly ref: ResourceRef;
  readonly rival: Rival;
  /** Differing paths when it began; empty if the object was replaced or recreated. */
  readonly paths: readonly string[];
  readonly undoneAt: number;
}

interface WrittenVersion {
  readonly at: number;
  readonly uid: string;
  readonly resourceVersion: string | undefined;
  readonly generation: number | undefined;
  readonly isDeletion: boolean;
}

export interface ContestEntry {
  readonly write: WrittenVersion;
  /** Hash of the manifest, or '' for a pruned object. */
  readonly desired: string;
  readonly isSelfHeal: boolean;
  /** The last write was found undone. */
  readonly isUndone: boolean;
  readonly isMissing: boolean;
  /** When counted undos by `rival` were found, at most {@link contestRules.undos}. */
  readonly undos: readonly number[];
  readonly rival: Rival | undefined;
  readonly contest: Contest | undefined;
}

/** A comparison that began at `at`. */
export interface ContestFacts {
  readonly pairs: readonly ManagedPair[];
  readonly at: number;
  /** The name of the Application in tracking. */
  readonly instance: string;
  readonly tracking: TrackingSettings;
  /** Whether automated sync repairs drift; without it, only the API server can be the rival. */
  readonly heals: boolean;
  /** Conditions of the last comparison, which this process may not have made. */
  readonly conditions: readonly ApplicationCondition[];
}

export const noContests: ContestMemory = new Map();

export function afterWrites(memory: ContestMemory, writes: readonly OwnWrite[]): ContestMemory {
  const next = new Map(memory);
  for (const own of writes) {
    const known = next.get(own.key);
    const isWatched = own.isSelfHeal || own.stored !== null;
    const isNoted = known !== undefined || (isWatched && next.size < contestRules.maxObjects);
    if (isNoted) next.set(own.key, entryOf(own, known));
  }
  return next;
}

function entryOf(own: OwnWrite, known: ContestEntry | undefined): ContestEntry {
  const { resourceVersion, generation } = own.stored?.metadata ?? {};
  const write = { at: own.at, uid: own.uid, resourceVersion, generation, isDeletion: own.stored === null };
  const desired = desiredOf(own.target);
  const kept = known?.desired === desired ? known : undefined;
  const { undos = [], rival, contest } = kept ?? {};
  const isSelfHeal = own.isSelfHeal || kept?.isSelfHeal === true;
  return { write, desired, isSelfHeal, isUndone: false, isMissing: false, undos, rival, contest };
}

/** Judges each entry by a comparison. Call it for successful comparisons only. */
export function afterComparison(memory: ContestMemory, facts: ContestFacts): ContestMemory {
  const next = new Map<ResourceKey, ContestEntry>(reportedContests(memory, facts));
  if (memory.size === 0) return next;
  const pairs = new Map(facts.pairs.filter(({ key }) => memory.has(key)).map((pair) => [pair.key, pair]));
  for (const [key, entry] of memory) {
    const judged = judge(entry, pairs.get(key), facts);
    if (judged !== undefined && !isOver(judged, facts.at)) next.set(key, judged);
  }
  return next;
}

/**
 * Objects that the API server keeps different, by the conditions: the process may have restarted,
 * or another replica may have written them.
 */
function* reportedContests(
  memory: ContestMemory,
  { pairs, conditions, at }: ContestFacts,
): Generator<readonly [ResourceKey, ContestEntry]> {
  const texts = new Set(conditions.flatMap(({ type, message }) => (type === conditionType ? [message] : [])));
  if (texts.size === 0) return;
  for (const { key, live, target, diff, hook, own } of pairs) {
    if (memory.has(key) || live === null || target === null || !diff.modified || hook || !own) continue;
    const contest = serverContest(live, diff.paths, at);
    if (!texts.has(describe(contest, false))) continue;
    const { uid = '', resourceVersion, generation } = live.metadata;
    const write = { at, uid, resourceVersion, generation, isDeletion: false };
    const rest = { isSelfHeal: false, isUndone: true, isMissing: false, undos: [], rival: contest.rival };
    yield [key, { write, desired: desiredOf(target), ...rest, contest }];
  }
}

/** Undefined: the desired state changed, or the object is not ours any more. */
function judge(entry: ContestEntry, pair: ManagedPair | undefined, facts: ContestFacts): ContestEntry | undefined {
  const { write } = entry;
  if (pair === undefined) return write.isDeletion ? { ...entry, isMissing: true } : undefined;
  if (pair.unread === true || write.at > facts.at) return entry;
  if (!entry.isSelfHeal && !pair.diff.modified) return undefined;
  if (pair.hook || !pair.own || desiredOf(pair.target) !== entry.desired) return undefined;
  const kept = keptByServer(entry, pair, facts.at);
  if (kept !== undefined || !facts.heals || !entry.isSelfHeal) return kept;
  return judgeHealed(entry.contest?.rival.kind === 'server' ? { ...entry, contest: undefined } : entry, pair, facts);
}

function keptByServer(entry: ContestEntry, { live, diff }: ManagedPair, at: number): ContestEntry | undefined {
  if (live === null || !diff.modified || !isKeptByServer(entry, live, diff.paths)) return undefined;
  return { ...entry, isMissing: false, isUndone: true, contest: serverContest(live, diff.paths, at) };
}

/** Whether the object is as our write left it, or still differs where it was found to be. */
function isKeptByServer({ write, contest }: ContestEntry, live: KubeObject, paths: readonly string[]): boolean {
  const { uid, resourceVersion } = live.metadata;
  if (write.isDeletion || uid !== write.uid) return false;
  if (contest?.rival.kind === 'server' && contest.paths.join() === paths.join()) return true;
  if (resourceVersion !== undefined && resourceVersion === write.resourceVersion) return true;
  const isInSpec = paths.length > 0 && paths.every((path) => path.startsWith('/spec'));
  return isInSpec && isSpecAsWritten(write, live);
}

function serverContest(live: KubeObject, paths: readonly string[], undoneAt: number): Contest {
  return { ref: refOf(live), rival: { kind: 'server' }, paths, undoneAt };
}

function judgeHealed(entry: ContestEntry, pair: ManagedPair, facts: ContestFacts): ContestEntry | undefined {
  const { write } = entry;
  if (pair.live === null) return { ...entry, isMissing: true };
  const present = { ...entry, isMissing: false };
  return isUndoneBy(write, pair) ? undone(present, { ...pair, live: pair.live }, facts) : present;
}

function isUndoneBy(write: WrittenVersion, { live, diff }: ManagedPair): boolean {
  const isOther = live?.metadata.uid !== write.uid;
  return write.isDeletion ? isOther : isOther || diff.modified;
}

type LivePair = ManagedPair & { readonly live: KubeObject };

function undone(entry: ContestEntry, pair: LivePair, facts: ContestFacts): ContestEntry {
  const { at } = facts;
  if (entry.contest !== undefined) return { ...entry, isUndone: true, contest: { ...entry.contest, undoneAt: at } };
  const rival = entry.isUndone ? undefined : rivalOf(entry, pair, facts);
  if (rival === undefined || !isFastEnough(rival, at - entry.write.at)) return { ...entry, isUndone: true };
  const earlier = isSame(rival, entry.rival) ? entry.undos.filter((time) => at - time < contestRules.windowMs) : [];
  const undos = [...earlier, at];
  const paths = entry.write.uid === pair.live.metadata.uid ? pair.diff.paths : [];
  const contest = undos.length < contestRules.undos ? undefined : { ref: refOf(pair.live), rival, paths, undoneAt: at };
  return { ...entry, isUndone: true, undos, rival, contest };
}

/** One of two controllers stops first; the other finds its third undo ten minutes later. */
function isFastEnough(rival: Rival, afterMs: number): boolean {
  return isController(rival) || afterMs <= contestRules.reactionMs;
}

/** Another controller of Applications, and not a person, an autoscaler or a webhook. */
function isController({ kind }: Rival): boolean {
  return kind !== 'manager' && kind !== 'unrecorded' && kind !== 'server';
}

function isSame(a: Rival, b: Rival | undefined): boolean {
  return a.kind === b?.kind && ('name' in a ? a.name : '') === ('name' in b ? b.name : '');
}

function isOver({ write, contest }: ContestEntry, at: number): boolean {
  return contest === undefined ? at - write.at >= contestRules.windowMs : at - contest.undoneAt >= contestRules.quietMs;
}

function desiredOf(target: KubeObject | null): string {
  return target === null ? '' : hashJson(jsonOf(target));
}

/** Undefined: nothing shows that somebody else wrote. */
function rivalOf({ write }: ContestEntry, { live, diff }: LivePair, facts: ContestFacts): Rival | undefined {
  const claimed = claimantOf(live, facts);
  if (claimed !== undefined) return claimed;
  const writer = lastWriterOf(live, diff.paths);
  if (writer !== undefined && writer.manager !== fieldManager)
    return { kind: 'manager', name: writer.manager, subresource: writer.subresource };
  if (isSpecAsWritten(write, live)) return { kind: 'unrecorded' };
  return writer !== undefined || write.isDeletion ? { kind: 'twin' } : undefined;
}

function isSpecAsWritten({ uid, generation }: WrittenVersion, { metadata }: KubeObject): boolean {
  return uid === metadata.uid && generation !== undefined && generation === metadata.generation;
}

/** Another Application or installation that the tracking of the object names. */
function claimantOf(live: KubeObject, { instance, tracking }: ContestFacts): Rival | undefined {
  const label = tracking.method === 'label' ? labelOf(live, tracking.labelKey) : undefined;
  const id = tracking.method === 'label' ? undefined : annotationOf(live, annotations.trackingId);
  const app = label ?? (id === undefined ? undefined : parseTrackingId(id)?.app);
  if (app === undefined) return undefined;
  const installation = annotationOf(live, annotations.installationId) ?? '';
  if (id !== undefined && installation !== tracking.installationId) return { kind: 'installation', name: installation };
  return app === instance ? undefined : { kind: 'application', name: app };
}

/**
 * The contested objects that are there, with the time until automation may write them again.
 * Infinity: not at all. A missing object is recreated as usual, and self-heal against another rival
 * than a controller keeps its backoff: a person who edits an object often still sees it repaired.
 */
export function contestPauses(memory: ContestMemory, at: number): ReadonlyMap<ResourceKey, number> {
  const pauses = new Map<ResourceKey, number>();
  for (const [key, { write, contest, isMissing }] of memory) {
    if (contest === undefined) continue;
    const restMs = Math.max(0, write.at + contestRules.pauseMs - at);
    const isFree = isMissing || !isController(contest.rival);
    pauses.set(key, isFree ? 0 : write.isDeletion ? Number.POSITIVE_INFINITY : restMs);
  }
  return pauses;
}

/** Describes the rivals of each contested object. */
export function contestRivals(memory: ContestMemory): ReadonlyMap<ResourceKey, string> {
  return new Map(
    [...memory].flatMap(([key, { contest }]) => (contest === undefined ? [] : [[key, nameOf(contest.rival)]])),
  );
}

const conditionType = 'ContestedResourceWarning';
const maxShownContests = 5;
const maxShownPaths = 3;

/** One condition per contested object, up to {@link maxShownContests}; stable while it lasts. */
export function contestConditions(memory: ContestMemory): readonly ApplicationCondition[] {
  const contested = [...memory].flatMap(([key, { contest, write }]) =>
    contest === undefined ? [] : [{ key, text: describe(contest, write.isDeletion) }],
  );
  const sorted = contested.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  const texts = sorted.slice(0, maxShownContests).map(({ text }) => text);
  const more = sorted.length - texts.length;
  if (more > 0) texts.push(`Another controller also undoes the changes of ${more} more objects of this Application`);
  return texts.map((message) => ({ type: conditionType, message }));
}

function describe({ ref, rival, paths }: Contest, isDeletion: boolean): string {
  const { kind, namespace, name } = ref;
  const what = `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`;
  const fields = paths.length === 0 ? 'the object' : paths.slice(0, maxShownPaths).join(', ');
  const deed = isDeletion
    ? 'recreates it each time it is pruned'
    : rival.kind === 'server'
      ? `keeps ${fields} different from the manifest`
      : `changes ${fields} each time it is restored`;
  const effect = effectOf(rival, isDeletion);
  return `${what}: ${nameOf(rival)} ${deed}. ${effect}. ${adviceFor(rival, paths)}`;
}

function effectOf(rival: Rival, isDeletion: boolean): string {
  if (rival.kind === 'server') return 'The last sync has not changed that';
  if (!isController(rival)) return 'Automated sync goes on, with its backoff';
  return isDeletion
    ? 'Automated sync no longer prunes it; a manual sync does'
    : `Self-heal of this object waits ${contestRules.pauseMs / 60_000} minutes between attempts`;
}

function nameOf(rival: Rival): string {
  switch (rival.kind) {
    case 'server':
      return 'the API server (a default, a mutating webhook or a field of another manager)';
    case 'application':
      return `Application ${rival.name}`;
    case 'installation':
      return rival.name === '' ? 'an installation without installationID' : `installation ${rival.name}`;
    case 'twin':
      return `another controller that writes as ${fieldManager} for an Application of the same name`;
    case 'unrecorded':
      return 'a writer that managedFields do not name';
    case 'manager':
      return `field manager ${rival.name}${rival.subresource === '' ? '' : ` (${rival.subresource})`}`;
  }
}

function adviceFor(rival: Rival, paths: readonly string[]): string {
  switch (rival.kind) {
    case 'server':
      return "Put the server's value into Git, or add the field to ignoreDifferences";
    case 'application':
      return 'Remove the object from one of the two Applications';
    case 'installation':
      return 'Remove the object from one of the two installations';
    case 'twin':
      return 'Set a different installationID in argocd-cm of each installation, or rename or delete one of the Applications';
    case 'unrecorded':
    case 'manager':
      return paths.includes('/spec/replicas')
        ? 'If an autoscaler sets the replicas, remove them from Git, or add /spec/replicas to ignoreDifferences'
        : 'Add the field to ignoreDifferences, or stop the other writer';
  }
}
