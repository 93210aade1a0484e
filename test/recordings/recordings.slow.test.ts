import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { env } from 'node:process';
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { newAbortController, systemClock } from '#base';
import { JqRunner, replayRecording } from '#controller';
import type { Controller, ReplayedPass, ReplayTools } from '#controller';
import { compileHealthScripts, createLuaEngine } from '#health';
import { appKey } from '#model';
import type { Application } from '#model';
import { automated, config, deployment, hookJob, synced } from '../acceptance/objects.ts';
import { World } from '../acceptance/world.ts';
import type { GitFixture } from '../acceptance/world.ts';

const folder = import.meta.dirname;
/** Set it to write the recordings of this version; review what changed. */
const isUpdate = env['DRIFTLESS_UPDATE_RECORDINGS'] !== undefined;
const { signal } = newAbortController();
const jq = new JqRunner({ clock: systemClock }, { limitMs: 1000 });
afterAll(() => jq.close());

async function tools(): Promise<ReplayTools> {
  const engine = await createLuaEngine(systemClock);
  return { jq, healthScripts: (overrides) => compileHealthScripts(engine, overrides) };
}

async function replayed(lines: readonly string[]): Promise<readonly ReplayedPass[]> {
  const passes: ReplayedPass[] = [];
  const each = async function* (): AsyncGenerator<string> {
    yield* lines;
  };
  for await (const item of replayRecording(each(), await tools(), signal))
    if (item.kind === 'pass') passes.push(item.pass);
  return passes;
}

const expected: Readonly<Record<string, readonly RegExp[]>> = {
  drift: [/"do":"start"/, /self-heal attempt 1/, /"OutOfSync"/],
  'hooks-and-waves': [/waiting for completion of hook batch\/Job\/before/, /"PostSync"/, /"apply"/],
  'refused-project': [/is not permitted in project 'closed'/],
  'ignored-difference': [/"sync":"Synced"/],
  'failing-source': [/SOURCE_UNAVAILABLE|Failed to load target state/],
  secret: [/"Secret/, /differs/],
  prune: [/"delete"/, /"prune":true/],
};

describe('stored recordings', () => {
  const files = readdirSync(folder).filter((name) => name.endsWith('.ndjson'));

  it('are those of the list', () => {
    expect(files.map((name) => name.replace('.ndjson', '')).sort()).toEqual(Object.keys(expected).sort());
  });

  it.each(files)('%s replays as it was decided', async (name) => {
    const lines = readFileSync(join(folder, name), 'utf8').split('\n');
    const passes = await replayed(lines);
    expect(passes.flatMap(({ differences }) => differences)).toEqual([]);
    const text = JSON.stringify(passes.map(({ replayed: decided }) => decided));
    for (const pattern of expected[name.replace('.ndjson', '')] ?? []) expect(text).toMatch(pattern);
  });
});

describe('a recording of the simulator replays without a difference', () => {
  let world: World;
  let repo: GitFixture;
  let reading: NodeJS.Timeout | undefined;

  beforeEach(async () => {
    world = await World.start();
    repo = world.repository('sample');
  });
  afterEach(async () => {
    clearInterval(reading);
    await world.close();
  });

  const until = (check: (app: Application) => void): Promise<Application> => world.until('demo', check, 60_000);

  /** Begins to record; the result stops, replays, and stores what was recorded. */
  async function begin(controller: Controller): Promise<(name: string) => Promise<string>> {
    const lines: string[] = [];
    let after = '';
    let turn: Promise<number> = Promise.resolve(0);
    const next = async (): Promise<number> => {
      const request = { key: appKey('argocd', 'demo'), recording: 'simulator', isLast: false, after };
      const piece = await controller.report.recordings.read(request, { version: '0.1.0', replica: 'replica-0' });
      after = piece.next;
      lines.push(...piece.lines);
      return piece.lines.length;
    };
    const read = (): Promise<number> => (turn = turn.then(next));
    reading = setInterval(() => void read(), 500);
    await read();
    return async (name) => {
      clearInterval(reading);
      while ((await read()) > 0);
      const passes = await replayed(lines);
      expect(passes.length).toBeGreaterThan(0);
      expect(passes.flatMap(({ differences }) => differences)).toEqual([]);
      const text = lines
        .join('\n')
        .replaceAll(world.root, '/repositories')
        .replaceAll(world.cluster.url, 'https://cluster.example');
      for (const pattern of expected[name] ?? []) expect(text).toMatch(pattern);
      if (isUpdate) writeFileSync(join(folder, `${name}.ndjson`), `${text}\n`);
      return text;
    };
  }

  it('drift', async () => {
    repo.commit({ 'app/web.yaml': deployment(), 'app/a.yaml': config('a') });
    const { controller } = await world.replica();
    const end = await begin(controller);
    world.application('demo', { ...repo.source(), ...automated });
    await until(synced);
    world.tamper('', 'ConfigMap', 'a', { data: { key: 'tampered' } });
    await until((app) => {
      synced(app);
      expect(app.status?.operationState?.operation.sync?.autoHealAttemptsCount).toBe(1);
    });
    await end('drift');
  });

  it('hooks and waves', async () => {
    const hook = (type: string): Record<string, string> => ({ 'argocd.argoproj.io/hook': type });
    repo.commit({
      'app/a.yaml': config('a', '1', { 'argocd.argoproj.io/sync-wave': '-1' }),
      'app/web.yaml': deployment('nginx:1', { wave: 1 }),
      'app/before.yaml': hookJob('before', hook('PreSync')),
      'app/after.yaml': hookJob('after', hook('PostSync')),
    });
    const { controller } = await world.replica({ syncWaveDelayMs: 50 });
    const end = await begin(controller);
    world.application('demo', repo.source());
    await until((app) => expect(app.status?.sync?.status).toBe('OutOfSync'));
    world.sync('demo');
    await until((app) => {
      expect(app.status?.operationState?.phase).toBe('Succeeded');
      synced(app);
    });
    await end('hooks-and-waves');
  });

  it('a refused project', async () => {
    world.hub.store.create({
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'AppProject',
      metadata: { name: 'closed', namespace: 'argocd' },
      spec: { sourceRepos: ['https://elsewhere.example/*'], destinations: [{ server: '*', namespace: '*' }] },
    });
    repo.commit({ 'app/a.yaml': config('a') });
    const { controller } = await world.replica();
    const end = await begin(controller);
    world.application('demo', { ...repo.source(), project: 'closed' });
    await until((app) => expect(app.status?.conditions?.[0]?.type).toBe('InvalidSpecError'));
    await end('refused-project');
  });

  it('an ignored difference', async () => {
    repo.commit({ 'app/web.yaml': deployment(), 'app/a.yaml': config('a') });
    const { controller } = await world.replica();
    const ignoreDifferences = [
      { group: 'apps', kind: 'Deployment', jsonPointers: ['/spec/replicas'] },
      {
        kind: 'ConfigMap',
        jqPathExpressions: [
          '.data | to_entries[] | select(.key == "key") | .key | "data." + . | split(".")',
          '.data["key"]',
        ],
      },
    ];
    world.application('demo', { ...repo.source(), ...automated, ignoreDifferences });
    await until(synced);
    const end = await begin(controller);
    world.tamper('', 'ConfigMap', 'a', { data: { key: 'ignored' } });
    world.refresh('demo', 'hard');
    await until((app) => {
      synced(app);
      expect(app.metadata.annotations?.['argocd.argoproj.io/refresh']).toBeUndefined();
    });
    await end('ignored-difference');
  });

  it('a failing source', async () => {
    repo.commit({ 'app/a.yaml': config('a') });
    const { controller } = await world.replica();
    world.application('demo', { ...repo.source(), ...automated });
    await until(synced);
    const end = await begin(controller);
    world.edit('demo', (object) => Object.assign(object['spec'] as object, repo.source({ targetRevision: 'missing' })));
    await until((app) => expect(app.status?.sync?.status).toBe('Unknown'));
    await end('failing-source');
  });

  it('a Secret, whose values it does not contain', async () => {
    const secret = (value: string): string =>
      `apiVersion: v1\nkind: Secret\nmetadata: { name: key }\nstringData: { password: ${value}, same: equal-canary }\n`;
    repo.commit({ 'app/key.yaml': secret('first-canary') });
    const { controller } = await world.replica();
    const end = await begin(controller);
    world.application('demo', { ...repo.source(), ...automated });
    await until(synced);
    repo.commit({ 'app/key.yaml': secret('second-canary') });
    world.refresh('demo');
    await until((app) => {
      synced(app);
      expect(world.live('', 'Secret', 'key')).toMatchObject({ data: { password: btoa('second-canary') } });
    });
    const text = await end('secret');
    expect(text).not.toMatch(/canary|Y2FuYXJ5|LWNhbmFye|1jYW5hc/);
  });

  it('a prune', async () => {
    repo.commit({ 'app/a.yaml': config('a'), 'app/b.yaml': config('b') });
    const { controller } = await world.replica();
    world.application('demo', { ...repo.source(), ...automated });
    await until(synced);
    const end = await begin(controller);
    repo.commit({ 'app/b.yaml': null });
    world.refresh('demo');
    await until((app) => {
      synced(app);
      expect(world.live('', 'ConfigMap', 'b')).toBeUndefined();
    });
    await end('prune');
  });
});
