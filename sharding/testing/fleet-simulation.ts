import { seededRandom } from '#base';
import type { Random } from '#base';
import { appKeyOf } from '#model';
import type { AppKey, Application, ApplicationDestination, Cluster } from '#model';
import { Member } from '../member.ts';
import { looksNew } from '../member-types.ts';
import type { Instant, Intent, World } from '../member-types.ts';
import { formatSlots, membersKey, slotsKey } from '../slots-document.ts';
import { formatTable, tableKey } from '../table-document.ts';
import { timingOf } from '../timing.ts';
import { View } from '../view.ts';
import { Agenda } from './agenda.ts';
import { foundSlots, foundTable, Hub } from './hub.ts';
import type { Stored } from './hub.ts';
import { unkeptPromise } from './promises.ts';
import { resolve } from './scenario.ts';
import type { Fleet, Replica, Scenario, Steps } from './scenario.ts';
import { addSomeApp, addSomeCluster, decimate, makeTrouble } from './trouble.ts';

/*
 * Many replicas, one hub, one seed: everything that can go wrong between them, in virtual time. Requests travel, arrive late or never, or
 * their answers get lost; processes stop and go on; clocks differ, run at different speeds and jump; events are late, lost and doubled.
 */

export const heartbeatMs = 10_000;
const timing = timingOf(heartbeatMs);

type Answer<T> = { readonly ok: true; readonly value: T } | { readonly ok: false };

/** The world and its time. `run` plays a whole schedule and returns the first broken promise, or undefined. */
export class FleetSimulation implements Fleet {
  readonly scenario: Scenario;
  readonly #random: Random;
  readonly #hub = new Hub();
  readonly replicas: Replica[] = [];
  readonly clusters = new Map<string, Cluster>();
  readonly #apps = new Map<AppKey, Application>();
  readonly #agenda = new Agenda();
  now = 1_000_000;
  desired = 1;
  #born = 0;
  #calm = false;
  #lastLoss = Number.NEGATIVE_INFINITY;
  violation: string | undefined;
  readonly log: string[] = [];
  readonly #trace: boolean;

  constructor(scenario: Scenario, trace = false) {
    this.scenario = scenario;
    this.#random = seededRandom(scenario.seed);
    this.#trace = trace;
  }

  /** Random trouble for `troubleMs`, then peace until everything must have settled. */
  run(troubleMs: number): string | undefined {
    this.desired = 1 + this.below(12);
    for (let i = this.below(8) + 1; i > 0; i -= 1) addSomeCluster(this);
    for (let i = this.below(8) + 1; i > 0; i -= 1) addSomeApp(this);
    this.matchReplicas(true);
    const end = this.now + troubleMs;
    for (let at = this.now; at < end; at += this.below(6000)) this.#at(at, () => makeTrouble(this));
    this.play(end);
    return this.violation ?? this.settle();
  }

  /** Plays what is due until `end`, or until a promise breaks. */
  play(end: number): void {
    while (this.violation === undefined) {
      const next = this.#agenda.takeBefore(end);
      if (next === undefined) break;
      this.now = Math.max(this.now, next.at);
      next.run();
    }
    this.now = Math.max(this.now, end);
  }

  /** Ends all trouble, and says what is wrong after everybody had time. */
  settle(): string | undefined {
    this.#calm = true;
    for (const replica of this.replicas) {
      replica.cutUntil = this.now;
      if (replica.alive) this.relist(replica);
    }
    this.matchReplicas(false);
    if (this.scenario.shorthanded) decimate(this);
    // Who still sleeps comes back with an old view of everything, when it wakes.
    const awake = Math.max(this.now, ...this.replicas.map(({ alive, pausedUntil }) => (alive ? pausedUntil : 0)));
    this.play(awake + (this.scenario.shorthanded ? 4 : 3) * timing.leaseMs);
    if (this.violation !== undefined || this.desired === 0) return this.violation;
    return unkeptPromise(this, this.clusters.values(), this.#apps.keys());
  }

  // ---------------------------------------------------------------- the world

  addCluster(id: string, extra: Partial<Cluster> = {}): void {
    const server = extra.server ?? `https://${id}`;
    this.setCluster({
      ...{ id, server, name: id, namespaces: [], clusterResources: false, labels: {}, annotations: {} },
      connection: { server, insecure: false, credentials: {} },
      ...extra,
    });
  }

  removeCluster(id: string): void {
    this.clusters.delete(id);
    this.#tell((replica) => {
      // Events of one object keep their order: a late one never undoes a later one.
      if (!this.clusters.has(id)) replica.clusters.delete(id);
    });
  }

  addApp(name: string, destination: ApplicationDestination): void {
    const app = { metadata: { namespace: 'argocd', name }, spec: { destination } } as unknown as Application;
    this.#apps.set(appKeyOf(app), app);
    this.#tell((replica) => replica.apps.set(appKeyOf(app), this.#apps.get(appKeyOf(app)) ?? app));
  }

  scale(replicas: number): void {
    this.desired = replicas;
    this.note(`scale to ${replicas}`);
    for (const replica of this.replicas)
      this.#at(this.now + this.below(3000), () => {
        replica.desired = this.desired;
      });
    this.matchReplicas(false);
  }

  start(name: string, fixedSlot: number | undefined): Replica {
    this.#born += 1;
    const replica: Replica = {
      ...{
        name,
        rate: 0.95 + this.#random.next() * 0.1,
        origin: this.now,
        skew: (this.#random.next() - 0.5) * 600_000,
      },
      member: new Member({ name, process: `p${this.#born}`, timing }),
      fixedSlot,
      ...{ alive: true, leaving: false, pausedUntil: 0, cutUntil: 0, desired: this.desired, loaded: false },
      ...{ clusters: new Map(), apps: new Map(), view: undefined, writes: [], steps: undefined },
    };
    this.replicas.push(replica);
    this.note(`${name} starts`);
    this.#at(this.now + this.below(2000), () => this.relist(replica));
    replica.steps = this.#loop(replica);
    this.#resume(replica, this.below(200));
    return replica;
  }

  kill(replica: Replica): void {
    this.note(`${replica.name} is killed`);
    replica.alive = false;
  }

  pause(replica: Replica, ms: number): void {
    this.note(`${replica.name} stops for ${ms}`);
    replica.pausedUntil = this.now + ms;
  }

  cut(replica: Replica, ms: number): void {
    this.note(`${replica.name} is cut off for ${ms}`);
    replica.cutUntil = this.now + ms;
  }

  /**
   * Removes or spoils a ConfigMap, or brings back an old table. Only one at a time within a lease: after both, nobody can know anything.
   */
  lose(which: 'slots' | 'table', how: 'deleted' | 'spoilt' | 'restored' | 'emptied' | 'blanked' | 'unkeyed'): void {
    if (this.now - this.#lastLoss < 2 * timing.leaseMs) return;
    this.#lastLoss = this.now;
    this.note(`${which} ${how}`);
    if (how === 'deleted') this.#hub[which] = undefined;
    else if (how === 'emptied') this.#hub.set(which, { data: {} });
    else if (how === 'blanked' || how === 'unkeyed') this.#takeNamesOut(how === 'blanked' ? '[]' : undefined);
    else if (how === 'spoilt')
      this.#hub.set(which, { data: { [which === 'slots' ? slotsKey : tableKey]: '{"oops":[' } });
    else this.#hub.restoreTable();
  }

  /** What Argo CD's own controller does to a list that is longer than it thinks, and what a person does to a key. */
  #takeNamesOut(list: string | undefined): void {
    const members = this.#hub.slots?.data[membersKey];
    const kept = members === undefined ? {} : { [membersKey]: members };
    this.#hub.set('slots', { data: { ...kept, ...(list === undefined ? {} : { [slotsKey]: list }) } });
  }

  /** A replica of Argo CD's own controller holds a slot for a while: it renews by its clock, obeys nothing, and ends. */
  intrude(slot: number, ms: number): void {
    this.note(`a foreign controller takes ${slot} for ${ms}`);
    const until = this.now + ms;
    const beat = (): void => {
      const found = foundSlots(this.#hub.slots);
      if (found.state !== 'ok' || this.now > until) return;
      const entry = { slot, holder: 'go-pod', incarnation: 'argocd/go-pod', renewals: this.now, acked: 0 };
      const held = found.value.get(slot)?.holder;
      if (held !== undefined && held !== 'go-pod') return;
      const slots = new Map(found.value).set(slot, { ...entry, heartbeat: this.now });
      this.#hub.set('slots', { data: formatSlots(slots, slots.size) });
      this.#at(this.now + heartbeatMs, beat);
    };
    beat();
  }

  instant(replica: Replica): Instant {
    const monotonic = (this.now - replica.origin) * replica.rate;
    return { monotonic, wall: this.now + replica.skew };
  }

  /** Where an Application goes in a replica's eyes, if it may write for it now. */
  writesFor(replica: Replica, key: AppKey): string | undefined {
    if (replica.member.taken().size === 0) return undefined;
    const app = replica.apps.get(key);
    const table = replica.member.table();
    if (app === undefined || table === undefined || replica.view === undefined) return undefined;
    const cluster = resolve(replica.clusters, app.spec.destination);
    const place = replica.view.placeOf(key, cluster, table);
    if (place === undefined) return undefined;
    return replica.member.mayWrite(place.server, place.part, this.instant(replica)) ? place.server : undefined;
  }

  // ---------------------------------------------------------------- events

  setCluster(cluster: Cluster): void {
    this.clusters.set(cluster.id, cluster);
    this.#tell((replica) => {
      const current = this.clusters.get(cluster.id);
      if (current !== undefined) replica.clusters.set(cluster.id, current);
    });
  }

  /** An event to every replica: late, in any order with others, twice, or never (until the next list). */
  #tell(change: (replica: Replica) => void): void {
    for (const replica of this.replicas) {
      if (!replica.alive || (!this.#calm && this.below(8) === 0)) continue;
      const deliver = (): void => {
        if (!replica.alive || !replica.loaded) return;
        if (replica.pausedUntil > this.now) this.#at(replica.pausedUntil, deliver);
        else {
          change(replica);
          this.#update(replica);
        }
      };
      this.#at(this.now + this.below(4000), deliver);
      if (this.below(10) === 0) this.#at(this.now + this.below(9000), deliver);
    }
  }

  relist(replica: Replica): void {
    if (!replica.alive) return;
    replica.clusters.clear();
    replica.apps.clear();
    for (const [id, cluster] of this.clusters) replica.clusters.set(id, cluster);
    for (const [key, app] of this.#apps) replica.apps.set(key, app);
    replica.loaded = true;
    replica.desired = this.desired;
    this.#update(replica);
  }

  #update(replica: Replica): void {
    const options = { algorithm: this.scenario.algorithm, defaultParts: 1, weighting: 'applications' as const };
    replica.view = new View([...replica.clusters.values()], replica.apps.values(), options);
    this.check(replica);
  }

  /** What a StatefulSet or a Deployment does: as many pods as wanted. */
  matchReplicas(violent: boolean): void {
    const alive = this.replicas.filter((replica) => replica.alive && !replica.leaving);
    const stop = (replica: Replica): void => {
      if (violent) this.kill(replica);
      else replica.leaving = true;
    };
    if (this.scenario.dynamic) {
      for (const replica of alive.slice(this.desired)) stop(replica);
      for (let i = alive.length; i < this.desired; i += 1) this.start(`pod-${this.#born}`, undefined);
      return;
    }
    for (const replica of alive) if (ordinal(replica) >= this.desired) stop(replica);
    for (let i = 0; i < this.desired; i += 1)
      if (!alive.some((replica) => ordinal(replica) === i)) this.start(`ctl-${i}`, i);
  }

  // ---------------------------------------------------------------- one replica

  *#loop(replica: Replica): Steps<void> {
    for (;;) {
      const since = this.instant(replica).monotonic;
      let table = yield* this.#request(replica, () => this.#hub.table);
      const slotsSince = this.instant(replica).monotonic;
      const slots = table.ok ? yield* this.#request(replica, () => this.#hub.slots) : table;
      const isEmpty = table.ok && slots.ok && looksNew(foundTable(table.value), foundSlots(slots.value));
      if (isEmpty) table = yield* this.#request(replica, () => this.#hub.table);
      if (!table.ok || !slots.ok) {
        yield 500 + this.below(1000);
        continue;
      }
      const now = this.instant(replica);
      const found = { table: foundTable(table.value), slots: foundSlots(slots.value) };
      const before = replica.member.taken();
      const isNew = isEmpty && found.table.state === 'missing';
      replica.member.observe({ ...found, since, slotsSince, until: now.monotonic, isNew }, now);
      // Everything else only takes rights away, or changes what somebody sees (checked there).
      if (replica.member.taken() !== before) this.check(replica);
      this.#beginWrite(replica);
      const intent = replica.member.intent(this.#worldOf(replica), this.instant(replica));
      if (intent === undefined && replica.leaving && this.#isDrained(replica)) {
        replica.alive = false;
        return;
      }
      if (intent === undefined) yield replica.member.unsettled() ? 50 + this.below(100) : 500 + this.below(3000);
      else yield* this.#write(replica, intent, { slots: slots.value, table: table.value });
    }
  }

  *#write(
    replica: Replica,
    intent: Intent,
    base: Readonly<Record<'slots' | 'table', Stored | undefined>>,
  ): Steps<void> {
    const sent = this.instant(replica);
    const content =
      intent.write === 'slots' ? { data: formatSlots(intent.slots, intent.count) } : formatTable(intent.table);
    const put = (): boolean => this.#hub.put(intent.write, base[intent.write]?.version ?? 0, content);
    const answer = yield* this.#request(replica, put);
    if (this.#trace)
      this.note(
        `${replica.name} writes ${intent.write === 'slots' ? intent.why : `table ${intent.table.epoch}`}: ${String(answer.ok && answer.value)}`,
      );
    if (answer.ok && answer.value) {
      replica.member.wrote(intent, sent, this.instant(replica));
      if (intent.write === 'slots') this.check(replica);
    } else yield 10 + this.below(200);
  }

  /** There and back; what arrives is done, even if the answer gets lost. */
  *#request<T>(replica: Replica, act: () => T): Steps<Answer<T>> {
    yield this.#latency();
    if (replica.cutUntil > this.now) return { ok: false };
    const value = act();
    yield this.#latency();
    return replica.cutUntil > this.now ? { ok: false } : { ok: true, value };
  }

  #latency(): number {
    return !this.#calm && this.below(60) === 0 ? this.below(25_000) : 1 + this.below(20);
  }

  #worldOf(replica: Replica): World {
    return {
      inputs: replica.loaded ? replica.view?.inputs : undefined,
      replicas: replica.desired,
      fixedSlot: replica.fixedSlot === undefined || replica.desired !== 1 ? replica.fixedSlot : 0,
      drained: this.#isDrained(replica),
      leaving: replica.leaving,
    };
  }

  #isDrained(replica: Replica): boolean {
    replica.writes = replica.writes.filter(({ until }) => until > this.now);
    return replica.writes.every(({ key, goesTo }) => !replica.leaving && this.writesFor(replica, key) === goesTo);
  }

  /** A request that was allowed when it was sent, and lands some time later, whatever becomes of its sender. */
  #beginWrite(replica: Replica): void {
    const key = this.pick([...replica.apps.keys()]);
    if (key === undefined || replica.leaving) return;
    const goesTo = this.writesFor(replica, key);
    const longest = timing.marginMs * 0.7;
    if (goesTo !== undefined) replica.writes.push({ key, goesTo, until: this.now + this.below(longest) });
  }

  #resume(replica: Replica, delay: number): void {
    this.#at(this.now + delay, () => {
      if (!replica.alive) return;
      if (replica.pausedUntil > this.now) {
        this.#resume(replica, replica.pausedUntil - this.now);
        return;
      }
      if (replica.pausedUntil > 0) this.#wake(replica);
      const step = replica.steps?.next();
      if (step?.done === false) this.#resume(replica, step.value);
    });
  }

  /** Goes on after a stop, believing what it believed before. */
  #wake(replica: Replica): void {
    replica.pausedUntil = 0;
    this.check(replica);
  }

  // ---------------------------------------------------------------- promises

  /**
   * At most one writer for each Application: of all who see it go to one place, and of all who see it as it is. Looks at those for which
   * `changed` writes: it alone has just got a right or another view.
   */
  check(changed: Replica): void {
    if (this.violation !== undefined || changed.member.taken().size === 0) return;
    for (const [key, app] of this.#apps) {
      const mine = this.#writing(changed, key);
      if (mine === undefined) continue;
      for (const other of this.replicas) {
        const theirs = other === changed ? undefined : this.#writing(other, key);
        if (theirs === undefined) continue;
        if (theirs.goesTo === mine.goesTo)
          this.#break(`${key} at "${mine.goesTo}": ${other.name} and ${changed.name} both write`);
        const bothCurrent = [changed, other].every((replica) => replica.apps.get(key) === app);
        if (bothCurrent && !mine.going && !theirs.going)
          this.#break(`${key}: ${other.name} and ${changed.name} both write`);
      }
    }
  }

  /** Whether a replica writes for an Application: a request is on its way, or one could be sent now. */
  #writing(replica: Replica, key: AppKey): { readonly goesTo: string; readonly going: boolean } | undefined {
    const going = replica.writes.find((write) => write.key === key && write.until > this.now)?.goesTo;
    if (going !== undefined) return { goesTo: going, going: true };
    if (!replica.alive || replica.leaving || replica.pausedUntil > this.now) return undefined;
    const goesTo = this.writesFor(replica, key);
    return goesTo === undefined ? undefined : { goesTo, going: false };
  }

  #break(what: string): void {
    this.violation ??= `at ${this.now}: ${what}`;
    this.note(this.violation);
  }

  note(line: string): void {
    if (this.#trace) this.log.push(`${this.now} ${line}`);
  }

  // ---------------------------------------------------------------- time and chance

  #at(at: number, run: () => void): void {
    this.#agenda.add(at, run);
  }

  chance(): number {
    return this.#random.next();
  }

  below(n: number): number {
    return Math.floor(this.#random.next() * n);
  }

  pick<T>(list: readonly T[]): T | undefined {
    return list[this.below(list.length)];
  }
}

function ordinal(replica: Replica): number {
  return Number(replica.name.slice('ctl-'.length));
}
