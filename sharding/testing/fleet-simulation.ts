import { OwnershipLost, seededRandom, Shutdown } from '#base';
import type { RandomSource } from '#base';
import { appKeyOf } from '#model';
import type { AppKey, Application, ApplicationDestination, Cluster } from '#model';
import { silentLogger } from '#telemetry';
import { HubTime } from '../timing/hub-time.ts';
import type { HubTimestamp } from '../timing/hub-time.ts';
import { createOwnership } from '../ownership/ownership.ts';
import type { OwnershipDeps } from '../ownership/ownership.ts';
import { clusterKey } from '../distribution/parts.ts';
import { unresolvedDestination } from '../documents/table-document.ts';
import { timingOf } from '../timing/timing.ts';
import type { Ownership } from '../ownership/types.ts';
import { afterlifeMs, cutShort, reset } from './late-writes.ts';
import { noMetrics } from './no-metrics.ts';
import { intrude, lose } from './others-write.ts';
import { unkeptPromise } from './promises.ts';
import { appOf, clusterOf, ordinal, resolve } from './scenario.ts';
import type { SimulatedFleet, ConfigMapLoss, SimulatedReplica, FleetScenario, SimulatedWrite } from './scenario.ts';
import { SimulatedHub } from './simulated-hub.ts';
import type { NetworkLine } from './simulated-hub.ts';
import { anyTrouble } from './scripts.ts';
import { addSomeApp, addSomeCluster, decimate } from './trouble.ts';
import { MachineClock, VirtualTime } from './virtual-time.ts';

/*
 * Deterministic simulation: many replicas and one hub in virtual time, from one seed. Each replica
 * is the real `Ownership` with the real coordinator and its own clocks and network. Requests and
 * responses are delayed or lost, processes stop, machines are suspended, clocks differ, drift and
 * jump, events are late, lost or duplicated, and writes land up to 30 s after they were sent.
 */

export const heartbeats = [2000, 10_000, 20_000] as const;
const workload = 'argocd-application-controller';
/** The simulated world. `run` plays a schedule and returns the first violation, or undefined. */
export class FleetSimulation implements SimulatedFleet {
  readonly scenario: FleetScenario;
  readonly #random: RandomSource;
  readonly #time = new VirtualTime();
  readonly hub: SimulatedHub;
  readonly replicas: SimulatedReplica[] = [];
  readonly clusters = new Map<string, Cluster>();
  readonly apps = new Map<AppKey, Application>();
  #desired = 1;
  #born = 0;
  #calm = false;
  #lastLoss = Number.NEGATIVE_INFINITY;
  violation: string | undefined;
  readonly log: string[] = [];
  readonly #trace: boolean;

  constructor(scenario: FleetScenario, trace = false) {
    this.scenario = scenario;
    this.#random = seededRandom(scenario.seed);
    this.#trace = trace;
    this.hub = new SimulatedHub(this.#time, {
      latency: () => (!this.#calm && this.below(60) === 0 ? this.below(25_000) : 1 + this.below(20)),
      fate: () => this.#fate(),
    });
  }

  get now(): number {
    return this.#time.now;
  }

  /** Injects random faults for `troubleMs`, then lets everything settle without faults. */
  async run(troubleMs: number, { begin, act, pauseMs } = anyTrouble): Promise<string | undefined> {
    try {
      this.scale(1 + this.below(this.scenario.most));
      for (let i = this.below(8) + 1; i > 0; i -= 1) addSomeCluster(this);
      for (let i = this.below(8) + 1; i > 0; i -= 1) addSomeApp(this);
      const end = this.now + troubleMs;
      begin?.(this);
      for (let at = this.now; at < end; at += this.below(pauseMs)) this.#time.at(at, () => act(this));
      await this.play(end);
      return this.violation ?? (await this.settle());
    } finally {
      for (const replica of this.replicas) this.kill(replica);
    }
  }

  /** Plays events until `end`, or until a violation. */
  play(end: number): Promise<void> {
    return this.#time.play(end, () => this.violation !== undefined);
  }

  /** Ends all faults; returns what is still wrong after so many of the longest leases. */
  async settle(leases = this.scenario.shorthanded ? 4 : 3): Promise<string | undefined> {
    this.#calm = true;
    this.scale(this.#desired);
    for (const replica of this.replicas) {
      replica.line.cutUntil = this.now;
      replica.line.onSend = undefined;
      if (replica.alive) this.relist(replica);
    }
    if (this.scenario.shorthanded) decimate(this);
    // Sleeping replicas wake up with an old view of everything.
    const awake = Math.max(this.now, ...this.replicas.map(({ alive, clock }) => (alive ? clock.stoppedUntil() : 0)));
    const end = awake + leases * this.longestLease();
    let wrong: string | undefined;
    for (let at = awake + 5000; at <= end; at += 5000) {
      await this.play(at);
      wrong = this.#desired === 0 ? undefined : unkeptPromise(this, this.hub);
      if (this.violation !== undefined || wrong === undefined) break;
    }
    return this.violation ?? wrong;
  }

  longestLease(): number {
    return Math.max(30_000, ...this.replicas.map(({ heartbeatMs }) => timingOf(heartbeatMs).leaseMs));
  }

  // ---------------------------------------------------------------- the world

  addCluster(id: string, extra: Partial<Cluster> = {}): void {
    this.setCluster(clusterOf(id, extra));
  }

  setCluster(cluster: Cluster): void {
    this.clusters.set(cluster.id, cluster);
    this.#tell((replica) => {
      const current = this.clusters.get(cluster.id);
      if (current !== undefined) replica.clusters.set(cluster.id, current);
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
    const app = appOf(name, destination);
    this.apps.set(appKeyOf(app), app);
    this.note(`${name} moves to ${JSON.stringify(destination)}`);
    this.#tell((replica) => replica.apps.set(appKeyOf(app), this.apps.get(appKeyOf(app)) ?? app));
  }

  scale(replicas: number): void {
    this.#desired = replicas;
    this.note(`scale to ${replicas}`);
    this.hub.put(this.scenario.dynamic ? 'Deployment' : 'StatefulSet', workload, { spec: { replicas } });
    this.matchReplicas(false);
  }

  forgetScale(): void {
    this.note('the number of replicas is unknown');
    this.hub.remove(this.scenario.dynamic ? 'Deployment' : 'StatefulSet', workload);
  }

  start(name: string, controllerName = workload): SimulatedReplica {
    this.#born += 1;
    const rate = 0.95 + this.#random.next() * 0.1;
    const clock = new MachineClock(this.#time, { rate, skew: (this.#random.next() - 0.5) * 600_000 });
    const line: NetworkLine = { clock, cutUntil: 0, cut: 'all', sentWrites: [] };
    const heartbeatMs = this.scenario.mixed ? (this.pick(heartbeats) ?? 10_000) : 10_000;
    const hubTime = new HubTime();
    const ownership = this.#ownershipOf(name, { line, heartbeatMs, hubTime, controllerName });
    const end = new AbortController();
    const leave = (): void => {
      replica.leaving = true;
      end.abort(new Shutdown());
    };
    const replica: SimulatedReplica = {
      name,
      ownership,
      clock,
      line,
      heartbeatMs,
      leave,
      alive: true,
      leaving: false,
      loaded: false,
      clusters: new Map(),
      apps: new Map(),
      writes: [],
      pausedUntil: undefined,
      leaseEndsAt: 0,
    };
    line.onAnswer = (told) => this.#tellTime(replica, hubTime, told);
    this.replicas.push(replica);
    this.note(`${name} starts with ${heartbeatMs}`);
    ownership.onChange(() => {
      this.check(replica);
      this.#fillCaches(replica);
    });
    void ownership.run(end.signal).then(() => this.kill(replica));
    this.#time.at(this.now + this.below(2000), () => this.relist(replica));
    this.#beginWrites(replica);
    return replica;
  }

  /** Records what the replica can know about its clocks from this response. */
  #tellTime(replica: SimulatedReplica, hubTime: HubTime, told: HubTimestamp): void {
    hubTime.answered(told);
    const { dateMs, sentAt, answeredAt } = told;
    if (answeredAt - sentAt < 1000 && dateMs > (replica.pausedUntil ?? Number.POSITIVE_INFINITY) - 1000)
      replica.pausedUntil = undefined;
  }

  #ownershipOf(
    hostname: string,
    { line, ...own }: Pick<OwnershipDeps, 'heartbeatMs' | 'controllerName' | 'hubTime'> & { line: NetworkLine },
  ): Ownership {
    const { algorithm, dynamic } = this.scenario;
    return createOwnership({
      client: this.hub.client(line),
      namespace: 'argocd',
      clock: line.clock,
      random: this.#random,
      logger: silentLogger,
      metrics: noMetrics,
      algorithm,
      dynamic,
      hostname,
      replicas: 0,
      ...own,
      bootMs: () => line.clock.boot(),
      prepares: this.scenario.prepares,
      defaultParts: this.scenario.splits ? 'auto' : 1,
    });
  }

  /** Fills caches after a delay; occasionally never, so that the limit must apply. */
  #fillCaches({ ownership, clock }: SimulatedReplica): void {
    if (this.below(10) === 0) return;
    const servers = [...ownership.gaining().keys()];
    if (servers.length > 0) clock.timer(this.below(10_000), () => ownership.prepared(servers));
  }

  kill(replica: SimulatedReplica): void {
    if (!replica.alive) return;
    this.note(`${replica.name} is killed`);
    this.#noteLease(replica);
    replica.alive = false;
    replica.clock.off();
  }

  stop(replica: SimulatedReplica, ms: number): void {
    this.note(`${replica.name} stops for ${ms}`);
    replica.clock.stop(ms);
    this.#time.at(this.now + ms, () => this.check(replica));
  }

  suspend(replica: SimulatedReplica, ms: number): void {
    this.#amid(replica, () => {
      this.note(`the machine of ${replica.name} is suspended for ${ms}`);
      replica.clock.suspend(ms);
      this.#time.at(this.now + ms, () => this.check(replica));
    });
  }

  pause(replica: SimulatedReplica, ms: number): void {
    this.#amid(replica, () => {
      this.note(`the machine of ${replica.name} is paused for ${ms}`);
      replica.clock.pause(ms);
      replica.pausedUntil = this.now + ms;
    });
  }

  /** Acts now or in the middle of a read of the hub, which then spans two states. */
  #amid({ line, clock }: SimulatedReplica, act: () => void): void {
    const begin = (): void => {
      line.onSend = undefined;
      if (!clock.isStopped()) act();
    };
    if (this.below(2) === 0) begin();
    else line.onSend = begin;
  }

  cut(replica: SimulatedReplica, ms: number, what: NetworkLine['cut']): void {
    this.note(`${replica.name} is cut off (${what}) for ${ms}`);
    replica.line.cutUntil = this.now + ms;
    replica.line.cut = what;
  }

  /**
   * Deletes, corrupts or restores a ConfigMap. Only one at a time within a lease: losing both
   * leaves no information.
   */
  lose(which: 'slots' | 'table', how: ConfigMapLoss): void {
    if (this.now - this.#lastLoss < 2 * this.longestLease()) return;
    this.#lastLoss = this.now;
    this.note(`${which} ${how}`);
    lose(this.hub, which, how, 1 + this.below(which === 'table' ? 2 : 50));
  }

  intrude(slot: number, ms: number): void {
    this.note(`a foreign controller takes ${slot} for ${ms}`);
    intrude(this.hub, this.#time, slot, ms);
  }

  /** Destination of an Application as the replica sees it, if it may write for it now. */
  writesFor(replica: SimulatedReplica, key: AppKey): string | undefined {
    const app = replica.apps.get(key);
    if (app === undefined || replica.pausedUntil !== undefined) return undefined;
    const cluster = resolve(replica.clusters, app.spec.destination);
    if (!replica.ownership.ownsApp(key, cluster)) return undefined;
    const server = cluster === undefined ? unresolvedDestination : clusterKey(cluster.server);
    try {
      replica.ownership.assertOwns(server, key);
      return server;
    } catch (error) {
      if (error instanceof OwnershipLost) return undefined;
      throw error;
    }
  }

  // ---------------------------------------------------------------- events

  /** Sends an event to every replica: late, reordered, twice, or never (until the next list). */
  #tell(change: (replica: SimulatedReplica) => void): void {
    for (const replica of this.replicas) {
      if (!replica.alive || (!this.#calm && this.below(8) === 0)) continue;
      const deliver = (): void =>
        replica.clock.whenRunning(() => {
          if (!replica.alive || !replica.loaded) return;
          change(replica);
          this.#update(replica);
        });
      this.#time.at(this.now + this.below(4000), deliver);
      if (this.below(10) === 0) this.#time.at(this.now + this.below(9000), deliver);
    }
  }

  relist(replica: SimulatedReplica): void {
    if (!replica.alive) return;
    replica.clusters.clear();
    replica.apps.clear();
    for (const [id, cluster] of this.clusters) replica.clusters.set(id, cluster);
    for (const [key, app] of this.apps) replica.apps.set(key, app);
    replica.loaded = true;
    this.#update(replica);
  }

  #update(replica: SimulatedReplica): void {
    replica.ownership.update([...replica.clusters.values()], replica.apps.values());
    this.check(replica);
  }

  /** Acts as the controller of a StatefulSet or Deployment: matches the number of pods. */
  matchReplicas(violent: boolean): void {
    const alive = this.replicas.filter(({ alive, leaving, name }) => alive && !leaving && !name.startsWith('other'));
    const stop = (replica: SimulatedReplica): void => {
      if (violent) this.kill(replica);
      else replica.leave();
    };
    if (this.scenario.dynamic) {
      for (const replica of alive.slice(this.#desired)) stop(replica);
      for (let i = alive.length; i < this.#desired; i += 1) this.start(`pod-x${this.#born}y`);
      return;
    }
    for (const replica of alive) if (ordinal(replica) >= this.#desired) stop(replica);
    for (let i = 0; i < this.#desired; i += 1)
      if (!alive.some((replica) => ordinal(replica) === i)) this.start(`ctl-${i}`);
  }

  // ---------------------------------------------------------------- writes

  /** Begins writes at random times. */
  #beginWrites(replica: SimulatedReplica): void {
    replica.clock.timer(this.below(4000), () => {
      if (!replica.alive || replica.leaving) return;
      const key = this.pick([...replica.apps.keys()]);
      const goesTo = key === undefined ? undefined : this.writesFor(replica, key);
      if (key !== undefined && goesTo !== undefined) void this.#write(replica, key, goesTo).catch(() => undefined);
      this.#beginWrites(replica);
    });
  }

  /**
   * Sends an allowed write, which is carried out some time later. The sender gets the response,
   * times out with its lease, or sees a connection reset before that.
   */
  #write(replica: SimulatedReplica, key: AppKey, goesTo: string): Promise<void> {
    const { ownership, clock } = replica;
    const server = goesTo === unresolvedDestination ? undefined : goesTo;
    const landsAt = this.now + (this.below(12) === 0 ? this.below(30_000) : this.below(2000));
    const isReset = this.below(10) === 0;
    return ownership.writing(
      server,
      key,
      (_check, abandoned) =>
        new Promise<void>((done, failed) => {
          const whole = { key, goesTo, landsAt };
          const write: SimulatedWrite = isReset ? cutShort(whole, this.now) : whole;
          replica.writes = [...replica.writes.filter((each) => each.landsAt > this.now), write];
          const giveUp = (): void => {
            replica.writes = replica.writes.map((each) => (each === write ? cutShort(each, this.now) : each));
            failed(new OwnershipLost(`application ${key}`));
          };
          abandoned.addEventListener('abort', giveUp, { once: true });
          const atLeaseEnd = (): void => {
            const left = ownership.leaseLeftMs();
            if (left > 0) timer = clock.timer(left + 1, atLeaseEnd);
            else giveUp();
          };
          let timer = clock.timer(ownership.leaseLeftMs() + 1, atLeaseEnd);
          const end = (run: () => void): void =>
            clock.whenRunning(() => {
              timer.cancel();
              run();
            });
          if (isReset) this.#time.at(this.now + this.below(1000), () => end(() => failed(reset())));
          else this.#time.at(landsAt, () => end(done));
        }),
    );
  }

  // ---------------------------------------------------------------- promises

  /**
   * Checks that each Application has at most one writer per destination, and at most one writer
   * with a true view. Only Applications that `changed` writes to can be violated, because only its
   * rights or view have changed.
   */
  check(changed: SimulatedReplica): void {
    this.#noteLease(changed);
    if (this.violation !== undefined || !changed.alive) return;
    for (const [key, app] of this.apps) {
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

  /**
   * Reports whether a replica writes for an Application: a request is in flight, or could be sent
   * now.
   */
  #writing(replica: SimulatedReplica, key: AppKey): { readonly goesTo: string; readonly going: boolean } | undefined {
    // A dead, stopped or disconnected replica cannot renew: its writes end with its lease plus the
    // afterlife.
    const ended = replica.leaseEndsAt + afterlifeMs;
    const going = replica.writes.find(
      (write) => write.key === key && Math.min(write.landsAt, ended) > this.now,
    )?.goesTo;
    if (going !== undefined) return { goesTo: going, going: true };
    if (!replica.alive || replica.leaving || replica.clock.isStopped()) return undefined;
    const goesTo = this.writesFor(replica, key);
    return goesTo === undefined ? undefined : { goesTo, going: false };
  }

  #noteLease(replica: SimulatedReplica): void {
    if (!replica.alive || replica.clock.isStopped() || replica.pausedUntil !== undefined) return;
    const left = replica.ownership.leaseLeftMs();
    if (left > 0) replica.leaseEndsAt = this.now + left / 0.95;
  }

  #break(what: string): void {
    this.violation ??= `at ${this.now}: ${what}`;
    this.note(this.violation);
  }

  note(line: string): void {
    if (this.#trace) this.log.push(`${this.now} ${line}`);
  }

  // ---------------------------------------------------------------- randomness

  #fate(): 'arrives' | 'lost' | 'reset' {
    return this.#calm || this.below(40) > 0 ? 'arrives' : this.below(2) === 0 ? 'lost' : 'reset';
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
