import { expect } from '@jest/globals';
import { omit, seededRandom, Shutdown } from '#base';
import { isReconcileSkipped } from '#model';
import { FakeClock } from '#support';
import { createLogger } from '#telemetry';
import { createSettingsStore } from '../store.ts';
import type { SettingsStore, SettingsWriter } from '../types.ts';
import { isSameValue } from '../values.ts';
import type { FakeHub } from './fake-hub.ts';

type Data = Readonly<Record<string, string>>;

/** A whole Secret that narrows what is written. */
export interface TriedSecret {
  readonly type: 'cluster' | 'repository' | 'repo-creds' | 'repository-write' | 'repo-write-creds';
  readonly narrow: Data;
  readonly marks?: Data;
}

/** The repository that the Secrets are about. */
export const url = 'https://git.example.com/team/app';

/** The cluster or repository of the Secret as a settings store knows it. */
export function seen(store: SettingsStore, { type, narrow }: TriedSecret): object {
  const { project = '', server, name } = narrow;
  if (type === 'cluster') {
    const found = [store.resolve({ server: server ?? '' }, project), store.resolve({ name: name ?? '' }, project)];
    const others = store.resolve({ server: server ?? '' }, 'other');
    return { found: [...found, others].map(clusterFacts) };
  }
  const found = type.includes('write') ? store.writeRepository(url, project) : store.repository(url, project);
  return omit(found, 'secretData');
}

function clusterFacts(found: ReturnType<SettingsStore['resolve']>): object {
  if ('error' in found) return { error: true };
  const { server, namespaces, clusterResources, project, connection, annotations: marks } = found;
  return { server, namespaces, clusterResources, project, connection, isSkipped: isReconcileSkipped(marks) };
}

/** As before, or nothing is written: the cluster is not found, the repository not fetched. */
export function isNoWider(before: object, now: object): boolean {
  if (isSameValue(before, now) || 'fault' in now) return true;
  if (!('found' in now) || !('found' in before)) return false;
  const pairs = zip(before.found as object[], now.found as object[]);
  return pairs.every(([was = {}, is = {}]) => 'error' in is || isSameValue(was, is));
}

const zip = (a: readonly object[], b: readonly object[]): readonly (readonly object[])[] =>
  a.map((one, i) => [one, b[i] ?? {}]);

/** A settings store in virtual time, with the lines of its log. */
export interface RunningStore {
  readonly lines: readonly string[];
  readonly store: SettingsStore;
  readonly clock: FakeClock;
  readonly stop: () => Promise<void>;
}

/** @param writer keeps the settings of argocd-cm for a restart. */
export async function start(hub: FakeHub, writer?: SettingsWriter): Promise<RunningStore> {
  const clock = new FakeClock();
  const lines: string[] = [];
  const logger = createLogger({
    level: 'info',
    format: 'json',
    destination: { write: (line) => void lines.push(line) },
  });
  const inClusterConnection = { server: 'https://10.0.0.1', insecure: false, credentials: {} };
  const deps = { client: hub.client(), namespace: 'argocd', clock, random: seededRandom(1), logger };
  const store = createSettingsStore({ ...deps, inClusterConnection, writer });
  const controller = new AbortController();
  const running = store.run(controller.signal);
  const ready = store.ready?.(controller.signal);
  await clock.advance(1000);
  await ready;
  const stop = async (): Promise<void> => {
    controller.abort(new Shutdown());
    await running;
    expect(clock.pending).toBe(0);
  };
  return { lines, store, clock, stop };
}

export const put = (hub: FakeHub, { type, marks }: TriedSecret, data: Data, more: object = {}): void => {
  hub.put('Secret', 's', data, { secretType: type, createdAt: '2026-01-01T00:00:00Z', more });
  const object = hub.find('Secret', 's');
  if (marks !== undefined && object !== undefined) {
    const metadata = { ...object.metadata, annotations: marks };
    hub.put('Secret', 's', data, { secretType: type, more: { metadata, ...more } });
  }
};
