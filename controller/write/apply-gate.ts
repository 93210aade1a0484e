import { hashJson, omit } from '#base';
import type { Clock, RandomSource } from '#base';
import { fieldManager, jsonOf, keyOf } from '#model';
import type { AppKey, KubeObject, ResourceKey } from '#model';
import type { ApplyOptions } from '#sync';
import type { GateCounts } from './apply-metrics.ts';
import type { GateMiss } from './gate-misses.ts';

/** An apply that the gate decides about. */
export interface GateQuestion {
  readonly app: AppKey;
  readonly server: string;
  /** The impersonated user; undefined: the controller itself. */
  readonly user: string | undefined;
  readonly target: KubeObject;
  readonly live: KubeObject | null;
  readonly how: ApplyOptions;
  /** The comparison found a difference. */
  readonly differs: boolean;
}

/** `unchanged`: nothing to send. Otherwise send it and pass the server's response to `learn`. */
export type GateAnswer =
  { readonly unchanged: true } | { readonly unchanged: false; readonly learn: (stored: KubeObject) => void };

/** The manifest hash and the apply hash of decision D5, from one write and its response. */
interface GateEntry {
  readonly sent: string;
  readonly applied: string;
  readonly uid: string;
  /** Expiry, by the monotonic clock. */
  readonly until: number;
}

/**
 * Lifetime of an entry. The apply that follows corrects changes that the hashes cannot see, such as
 * a webhook's new behavior.
 */
const gateEntryLifetimeMs = 3 * 3_600_000;
const gateEntryJitter = 0.3;
/** Memory of an entry besides its texts. */
const entryOverheadBytes = 180;

/**
 * The hash gate before server-side applies (decision D5): an object that was sent and has not
 * changed since is not sent again. It is skipped only if the hash of what would be sent equals the
 * manifest hash of its entry, and the hash of the cached object equals the apply hash, taken from
 * the server's response.
 *
 * Only an answered write creates an entry, and the next attempt removes it first, so a failed or
 * cancelled write leaves none. Entries are in memory; losing them costs only redundant writes. Argo
 * CD sends every object of a full server-side sync again.
 */
export class ApplyGate {
  readonly #clock: Clock;
  readonly #random: RandomSource;
  readonly #counts: GateCounts;
  readonly #maxEntries: number;
  readonly #apps = new Map<AppKey, Map<ResourceKey, GateEntry>>();

  /** @param deps.maxEntries per Application: beyond it, the oldest entries are dropped. */
  constructor(deps: {
    readonly clock: Clock;
    readonly random: RandomSource;
    readonly counts: GateCounts;
    readonly maxEntries?: number;
  }) {
    this.#clock = deps.clock;
    this.#random = deps.random;
    this.#counts = deps.counts;
    this.#maxEntries = deps.maxEntries ?? Number.POSITIVE_INFINITY;
  }

  /** Decides whether a server-side apply is needed. */
  ask(question: GateQuestion): GateAnswer {
    const key = keyOf(question.target);
    const candidate = manifestHashOf(question);
    const reason = this.#missOf(question, key, candidate);
    if (reason === undefined) {
      this.#counts.hit();
      return { unchanged: true };
    }
    this.#counts.miss(reason);
    this.#apps.get(question.app)?.delete(key);
    const { app, target } = question;
    const learn = (stored: KubeObject): void => this.#learn(app, key, { sent: candidate, target, stored });
    return { unchanged: false, learn };
  }

  /** Counts a client-side apply, whose three-way merge against the cache needs no entry. */
  merged(question: Omit<GateQuestion, 'app' | 'server' | 'user'>, unchanged: boolean): void {
    if (unchanged) this.#counts.hit();
    else this.#counts.miss(statelessMissOf(question) ?? 'merge');
  }

  /** For an Application that is deleted, handed over, or hard-refreshed. */
  forget(app: AppKey): void {
    this.#apps.delete(app);
  }

  /** The number of entries. */
  get size(): number {
    return [...this.#apps.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** Estimated memory of the entries. */
  get bytes(): number {
    let bytes = 0;
    for (const entries of this.#apps.values())
      for (const [key, { sent, applied, uid }] of entries)
        bytes += entryOverheadBytes + key.length + sent.length + applied.length + uid.length;
    return bytes;
  }

  #missOf(question: GateQuestion, key: ResourceKey, candidate: string): GateMiss | undefined {
    const { app, target, live } = question;
    const plain = statelessMissOf(question);
    if (plain !== undefined || live === null) return plain;
    const entry = this.#apps.get(app)?.get(key);
    if (entry === undefined) return 'unknown';
    if (entry.until <= this.#clock.monotonic()) return 'expired';
    if (entry.sent !== candidate) return 'manifest';
    if (entry.uid !== live.metadata.uid) return 'recreated';
    return entry.applied === contentHashOf(live, target) ? undefined : 'drift';
  }

  #learn(
    app: AppKey,
    key: ResourceKey,
    { sent, target, stored }: { readonly sent: string; readonly target: KubeObject; readonly stored: KubeObject },
  ): void {
    const { uid = '', resourceVersion = '' } = stored.metadata;
    if (uid === '' || resourceVersion === '') return;
    const lasts = gateEntryLifetimeMs * (1 - gateEntryJitter + 2 * gateEntryJitter * this.#random.next());
    const entries = this.#apps.get(app) ?? new Map<ResourceKey, GateEntry>();
    this.#apps.set(app, entries);
    entries.set(key, { sent, applied: contentHashOf(stored, target), uid, until: this.#clock.monotonic() + lasts });
    const [oldest] = entries.keys();
    if (entries.size > this.#maxEntries && oldest !== undefined) entries.delete(oldest);
  }
}

/** Misses that need no entry to detect. */
function statelessMissOf({ live, how, differs }: Pick<GateQuestion, 'live' | 'how' | 'differs'>): GateMiss | undefined {
  if (live === null) return 'missing';
  if (how.force || how.replace) return 'forced';
  if (differs) return 'differs';
  return how.buildTarget === undefined ? undefined : 'respected';
}

/**
 * The hash of everything that decides what is sent: the manifest, the options, the user and the
 * cluster.
 */
function manifestHashOf({ server, user, target, how }: GateQuestion): string {
  const way = { ...omit(how, 'buildTarget'), adoptFrom: how.adoptFrom ?? null };
  return hashJson(jsonOf([server, user ?? null, fieldManager, way, target]));
}

/**
 * The hash of everything that an apply could change. Excludes what every write changes (version,
 * generation, times of managed fields), and the status unless the manifest contains one.
 */
export function contentHashOf(object: KubeObject, target: KubeObject): string {
  const metadata = omit(object.metadata, 'resourceVersion', 'generation', 'managedFields');
  const content = Object.hasOwn(target, 'status') ? object : omit(object, 'status');
  return hashJson(jsonOf([{ ...content, metadata }, fieldOwnersOf(object)]));
}

/** The field owners, without those of the status and other subresources. */
function fieldOwnersOf({ metadata }: KubeObject): unknown {
  const owners = (metadata as { readonly managedFields?: readonly Readonly<Record<string, unknown>>[] }).managedFields;
  const owned = (owners ?? []).filter(({ subresource }) => subresource === undefined || subresource === '');
  return owned.map((owner) => omit(owner, 'time'));
}
