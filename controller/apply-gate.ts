import { hashJson, omit } from '#base';
import type { Clock, Random } from '#base';
import { fieldManager, jsonOf, keyOf } from '#model';
import type { AppKey, KubeObject, ResourceKey } from '#model';
import type { ApplyHow } from '#sync';
import type { GateCounts } from './apply-metrics.ts';
import type { GateMiss } from './gate-misses.ts';

/** What is asked about. */
export interface GateQuestion {
  readonly app: AppKey;
  readonly server: string;
  /** Whom the writer acts as; undefined: ourselves. */
  readonly user: string | undefined;
  readonly target: KubeObject;
  readonly live: KubeObject | null;
  readonly how: ApplyHow;
  /** The comparison found a difference. */
  readonly differs: boolean;
}

/** `unchanged`: there is nothing to send. Otherwise it is to be sent, and `learn` takes what the server answered to that. */
export type GateAnswer =
  { readonly unchanged: true } | { readonly unchanged: false; readonly learn: (stored: KubeObject) => void };

/** What was sent and what came back: the manifest hash and the apply hash of decision D5. */
interface Entry {
  readonly sent: string;
  readonly applied: string;
  readonly uid: string;
  /** By the monotonic clock. */
  readonly until: number;
}

/**
 * How long an entry is believed: what the hashes cannot see (a webhook that would answer otherwise today) is made up for then. Each has its own time
 * by this share more or less: what was sent together must not be sent again together.
 */
const lifeMs = 3 * 3_600_000;
const jitter = 0.3;

/**
 * The gate of hashes before server-side applies (decision D5): what was sent and has not changed since is not sent again. Each object has an entry
 * with the hash of all that decides about what is sent (manifest hash) and of what the server answered (apply hash). It is sent unless the candidate,
 * the hash of what would be sent now, equals the first, and the hash of what the cache has (server hash) the second.
 *
 * An entry is made by an answer to a write only, and goes before the next write is tried: one that fails, is cancelled or whose answer is lost leaves
 * none. Nothing is stored: to lose it costs writes that change nothing.
 *
 * Client-side apply needs no entry: its three-way merge against the cache tells whether there is anything to send. Difference to Argo CD, which sends
 * every object of a full sync again when it is applied by the server.
 */
export class ApplyGate {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #counts: GateCounts;
  readonly #apps = new Map<AppKey, Map<ResourceKey, Entry>>();

  constructor(deps: { readonly clock: Clock; readonly random: Random; readonly counts: GateCounts }) {
    this.#clock = deps.clock;
    this.#random = deps.random;
    this.#counts = deps.counts;
  }

  /** Asks before a server-side apply. */
  ask(question: GateQuestion): GateAnswer {
    const key = keyOf(question.target);
    const candidate = candidateOf(question);
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

  /** Counts a client-side apply. */
  merged(question: Omit<GateQuestion, 'app' | 'server' | 'user'>, unchanged: boolean): void {
    if (unchanged) this.#counts.hit();
    else this.#counts.miss(plainMissOf(question) ?? 'merge');
  }

  /** Of an application that is gone, or another replica's, or of which everything is to be looked at anew. */
  forget(app: AppKey): void {
    this.#apps.delete(app);
  }

  /** Entries, in all. */
  get size(): number {
    return [...this.#apps.values()].reduce((sum, { size }) => sum + size, 0);
  }

  #missOf(question: GateQuestion, key: ResourceKey, candidate: string): GateMiss | undefined {
    const { app, target, live } = question;
    const plain = plainMissOf(question);
    if (plain !== undefined || live === null) return plain;
    const entry = this.#apps.get(app)?.get(key);
    if (entry === undefined) return 'unknown';
    if (entry.until <= this.#clock.monotonic()) return 'expired';
    if (entry.sent !== candidate) return 'manifest';
    if (entry.uid !== live.metadata.uid) return 'recreated';
    return entry.applied === contentOf(live, target) ? undefined : 'drift';
  }

  #learn(
    app: AppKey,
    key: ResourceKey,
    { sent, target, stored }: { readonly sent: string; readonly target: KubeObject; readonly stored: KubeObject },
  ): void {
    const { uid = '', resourceVersion = '' } = stored.metadata;
    if (uid === '' || resourceVersion === '') return;
    const lasts = lifeMs * (1 - jitter + 2 * jitter * this.#random.next());
    const entries = this.#apps.get(app) ?? new Map<ResourceKey, Entry>();
    this.#apps.set(app, entries);
    entries.set(key, { sent, applied: contentOf(stored, target), uid, until: this.#clock.monotonic() + lasts });
  }
}

/** What needs no memory. */
function plainMissOf({ live, how, differs }: Pick<GateQuestion, 'live' | 'how' | 'differs'>): GateMiss | undefined {
  if (live === null) return 'missing';
  if (how.force || how.replace) return 'forced';
  if (differs) return 'differs';
  return how.over === undefined ? undefined : 'respected';
}

/** The hash of all that decides about what is sent, and where: the bytes themselves, the way, and as whom. */
function candidateOf({ server, user, target, how }: GateQuestion): string {
  const way = { ...omit(how, 'over'), adoptFrom: how.adoptFrom ?? null };
  return hashJson(jsonOf([server, user ?? null, fieldManager, way, target]));
}

/**
 * The hash of what an object has and an apply could change. Not in it: what every write moves (version, generation, times of managed fields), and the
 * status, which others write all the time; unless the manifest sends one.
 */
function contentOf(object: KubeObject, target: KubeObject): string {
  const metadata = omit(object.metadata, 'resourceVersion', 'generation', 'managedFields');
  const content = Object.hasOwn(target, 'status') ? object : omit(object, 'status');
  return hashJson(jsonOf([{ ...content, metadata }, ownersOf(object)]));
}

/** Who owns which fields, but for those of status and other subresources. */
function ownersOf({ metadata }: KubeObject): unknown {
  const owners = (metadata as { readonly managedFields?: readonly Readonly<Record<string, unknown>>[] }).managedFields;
  const owned = (owners ?? []).filter(({ subresource }) => subresource === undefined || subresource === '');
  return owned.map((owner) => omit(owner, 'time'));
}
