import { systemClock } from '#base';
import {
  applicationOf,
  deleteApplication,
  edit,
  isOperable,
  itemName,
  refresh,
  rollback,
  sync,
  terminate,
} from './acts.ts';
import type { PlayedApp } from './acts.ts';
import { filesOf } from './content.ts';
import type { ItemState } from './content.ts';
import { withRows } from './known.ts';
import { slowness } from './pair.ts';
import type { WorldPair } from './pair.ts';
import type { Act, DifferentialPlan } from './plan.ts';
import { settingsData } from './plan.ts';
import { compareReadings, readWorld } from './reading.ts';
import type { WorldDifference } from './reading.ts';
import type { ServedRepository } from '../../e2e/argo-cli/repository.ts';
import type { SettingsName } from './settings.ts';
import { applicationsPath } from './side.ts';
import type { ApplicationObject } from './side.ts';

/** Differences of one Application after an act. */
export interface Finding {
  /** Index of the act; -1: after the creation of the Applications. */
  readonly act: number;
  readonly app: number;
  readonly differences: readonly WorldDifference[];
  /** The Application as Argo CD's side has it, and ours. */
  readonly objects: readonly (ApplicationObject | undefined)[];
}

export interface PlayOutcome {
  readonly findings: readonly Finding[];
  /** Differences by the row that explains them. */
  readonly known: ReadonlyMap<string, number>;
  /** Acts that had something to act on. */
  readonly acts: number;
}

/** Unequal sides that have not changed for so long stay unequal. */
const convergeMs = 12_000;
const convergeLimitMs = 120_000;
const rereadMs = 500;

/** One play of a plan on both sides. */
class Play {
  readonly #pair: WorldPair;
  readonly #plan: DifferentialPlan;
  readonly #repository: ServedRepository;
  readonly #apps: readonly PlayedApp[];
  readonly #namespaces: readonly string[];
  /** By Application and item: how it stands in Git. */
  readonly #states: (ItemState | undefined)[][];
  readonly #settings: Set<SettingsName>;
  readonly #differing = new Set<number>();
  readonly #findings: Finding[] = [];
  readonly #known = new Map<string, number>();
  #acts = 0;

  constructor(pair: WorldPair, plan: DifferentialPlan) {
    const { prefix, repository, url } = pair.begin();
    this.#pair = pair;
    this.#plan = plan;
    this.#repository = repository;
    this.#apps = plan.apps.map((app) => ({
      plan: app,
      name: `${prefix}-${app.name}`,
      namespace: app.hasOwnNamespace ? `${prefix}-${app.name}` : prefix,
      repository: url,
    }));
    this.#namespaces = [...new Set([prefix, ...this.#apps.map(({ namespace }) => namespace)])];
    this.#states = plan.apps.map(({ items }) => items.map(() => 'blue'));
    this.#settings = new Set(plan.settings);
  }

  async run(progress: (line: string) => void): Promise<PlayOutcome> {
    const [shared] = this.#namespaces;
    await this.#pair.each(async (side) => {
      await side.setSettings(settingsData([...this.#settings]));
      await side.api.create('/api/v1/namespaces', { metadata: { name: shared } });
    });
    this.#repository.commit(
      Object.assign({}, ...this.#apps.map((_app, i) => this.#filesOf(i))) as Record<string, string>,
    );
    await this.#pair.each(async ({ api }) => {
      for (const app of this.#apps) await api.create(applicationsPath, applicationOf(app));
    });
    await this.#compare(-1);
    for (const [index, act] of this.#plan.acts.entries()) {
      if ('app' in act && this.#differing.has(act.app)) continue;
      if (!(await this.#perform(act))) continue;
      this.#acts += 1;
      await this.#compare(index);
      progress(
        `act ${index + 1} of ${this.#plan.acts.length}, findings: ${this.#findings.map(shortFinding).join('; ') || 'none'}`,
      );
    }
    await this.#pair.end(this.#namespaces);
    return { findings: this.#findings, known: this.#known, acts: this.#acts };
  }

  #filesOf(app: number): Record<string, string> {
    const { plan } = this.#apps[app]!;
    const items = plan.items.flatMap((item, i) => {
      const state = this.#states[app]?.[i];
      return state === undefined ? [] : [{ ...item, name: itemName(this.#apps[app]!, i), state }];
    });
    const files = filesOf(plan.source, items);
    return Object.fromEntries(Object.entries(files).map(([path, content]) => [`${plan.name}/${path}`, content]));
  }

  /** Returns false if there is nothing to act on. */
  async #perform(act: Act): Promise<boolean> {
    if (act.do === 'settings') {
      if (!this.#settings.delete(act.name)) this.#settings.add(act.name);
      await this.#pair.each((side) => side.setSettings(settingsData([...this.#settings])));
      // Argo CD compares with them only when something else causes a comparison.
      await this.#pair.each(async (side) => {
        for (const each of this.#apps) if (side.applications.states.has(each.name)) await refresh(side, each, false);
      });
      return true;
    }
    const app = this.#apps[act.app]!;
    const states = this.#pair.sides.map(({ applications }) => applications.states.get(app.name));
    if (states.some((state) => state === undefined)) return false;
    if (act.do === 'push') {
      const own = this.#states[act.app]!;
      own[act.item] = act.to === 'absent' ? undefined : act.to;
      this.#repository.commit(this.#filesOf(act.app));
    }
    if (!canAct(act, states as ApplicationObject[])) return false;
    await this.#pair.each(async (side) => {
      switch (act.do) {
        case 'push':
          return refresh(side, app, false);
        case 'refresh':
          return refresh(side, app, act.hard);
        case 'edit':
          return edit(side, app, act.item, act.how);
        case 'sync':
          return sync(side, app, act.with);
        case 'rollback':
          return rollback(side, app, act);
        case 'terminate':
          return terminate(side, app);
        case 'delete':
          return deleteApplication(side, app, act.cascade);
        case 'spec':
          await side.api.patch(`${applicationsPath}/${app.name}`, { spec: act.patch });
      }
    });
    return true;
  }

  /** Waits until both sides are quiet, then until they are equal or the time is over. */
  async #compare(act: number): Promise<void> {
    await this.#pair.settle();
    const begin = systemClock.monotonic();
    const names = this.#apps.filter((_app, i) => !this.#differing.has(i)).map(({ name }) => name);
    for (;;) {
      const [theirs, ours] = await this.#pair.each((side) => readWorld(side, names));
      const all = withRows(compareReadings(theirs, ours), (app) => this.#apps.find(({ name }) => name === app)?.plan);
      const unknown = all.filter(({ row }) => row === undefined);
      const passed = systemClock.monotonic() - begin;
      const quiet = Math.min(passed, ...this.#pair.sides.map((side) => side.quietMs()));
      if (unknown.length > 0 && quiet < slowness() * convergeMs && passed < slowness() * convergeLimitMs) {
        await systemClock.sleep(rereadMs);
        continue;
      }
      for (const { row } of all) if (row !== undefined) this.#known.set(row, (this.#known.get(row) ?? 0) + 1);
      this.#record(act, unknown);
      return;
    }
  }

  #record(act: number, differences: readonly WorldDifference[]): void {
    for (const [index, { name }] of this.#apps.entries()) {
      const own = differences.filter(({ app }) => app === name);
      if (own.length === 0) continue;
      this.#differing.add(index);
      const objects = this.#pair.sides.map(({ applications }) => applications.states.get(name));
      this.#findings.push({ act, app: index, differences: own, objects });
    }
  }
}

function shortFinding({ app, differences }: Finding): string {
  return `a${app} ${[...new Set(differences.map(({ area }) => area))].join(' ')}`;
}

function canAct(act: Act, states: readonly ApplicationObject[]): boolean {
  if (act.do === 'sync') return states.every(isOperable);
  if (act.do === 'terminate') return states.every(({ status }) => status?.operationState?.phase === 'Running');
  if (act.do !== 'rollback') return true;
  const isManual = states.every(({ spec }) => (spec.syncPolicy?.automated ?? undefined) === undefined);
  return isManual && states.every(isOperable);
}

/** Plays a plan on both sides, and compares after each act. */
export function playPlan(
  pair: WorldPair,
  plan: DifferentialPlan,
  progress: (line: string) => void,
): Promise<PlayOutcome> {
  return new Play(pair, plan).run(progress);
}
