import { cpSync, existsSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { messageOf, SecretValue, Shutdown } from '#base';
import { bareRepository } from '#model';
import { canMount, eventually, FakeClock, SmallDisk } from '#support';
import type { DesiredSourceDeps } from './assembly.ts';
import { CacheUnwritable } from './errors.ts';
import { failureOf, renderBench } from './testing/repository.ts';
import type { RenderBench } from './testing/repository.ts';
import { currentRevision, renderedAgain, renderOne, requestOf } from './testing/request.ts';
import { serveChart } from './testing/chart-repository.ts';
import { startWebServer } from './testing/web-server.ts';
import type { SourceManifests } from './types.ts';

const opened: (() => void)[] = [];
afterEach(() => {
  for (const close of opened.splice(0).reverse()) close();
});

function bench(over: Partial<DesiredSourceDeps> = {}): RenderBench {
  const made = renderBench(over);
  opened.push(() => made.close());
  return made;
}

function smallDisk(): SmallDisk {
  const disk = new SmallDisk();
  opened.push(() => disk.close());
  return disk;
}

const configMap = (name: string): string => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\n`;
const app = { path: 'app' };
const current = { cache: currentRevision };

const namesIn = ({ objects }: SourceManifests): readonly unknown[] => objects.map(({ metadata }) => metadata.name);

async function namesOf(rendered: Promise<SourceManifests>): Promise<readonly unknown[]> {
  return namesIn(await rendered);
}

/** The files below a folder, by their relative paths. */
function filesIn(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => statSync(join(folder, name)).isFile());
}

interface Refusal {
  readonly is: string;
  readonly reason: string;
  readonly begin: (disk: SmallDisk) => void;
  readonly end: (disk: SmallDisk) => void;
}

const refusals: readonly Refusal[] = [
  {
    is: 'full',
    reason: 'No space left on device',
    begin: (disk) => disk.fill(),
    end: (disk) => disk.free(),
  },
  {
    is: 'read-only',
    reason: 'Read-only file system',
    begin: (disk) => disk.setReadOnly(true),
    end: (disk) => disk.setReadOnly(false),
  },
];

(canMount ? describe : describe.skip).each(refusals)('a cache on a disk that is $is (needs root)', (refusal) => {
  it('renders known commits, reports the disk for a new one, and renders it once there is space', async () => {
    const disk = smallDisk();
    const made = bench({ cacheDir: join(disk.path, 'cache') });
    const repository = made.repository({ 'app/a.yaml': configMap('first') });
    await made.render(repository, app);
    refusal.begin(disk);
    expect(await namesOf(made.render(repository, app, current))).toEqual(['first']);
    expect(await namesOf(made.render(repository, app, { cache: renderedAgain }))).toEqual(['first']);
    repository.commit({ 'app/a.yaml': configMap('second') });
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const error = await failureOf(made.render(repository, app, current));
      expect(error).toBeInstanceOf(CacheUnwritable);
      expect(error.message).toContain(`the cache on disk cannot be written: ${refusal.reason}`);
      expect(error.message).toContain(`of ${repository.path}: `);
      expect(error.message).not.toContain(disk.path);
    }
    refusal.end(disk);
    expect(await namesOf(made.render(repository, app, current))).toEqual(['second']);
    expect(filesIn(disk.path).filter((name) => /tmp_|\.lock$|\.[0-9a-f-]{36}$/.test(name))).toEqual([]);
  });

  it('renders known commits of an earlier process, and new ones once there is space', async () => {
    const disk = smallDisk();
    const cacheDir = join(disk.path, 'cache');
    const before = bench({ cacheDir });
    const repository = before.repository({ 'app/a.yaml': configMap('first') });
    const unseen = before.repository({ 'app/a.yaml': configMap('unseen') });
    await before.render(repository, app);
    // A write that a killed process did not finish.
    writeFileSync(join(cacheDir, 'rendered', 'left.over'), '');
    refusal.begin(disk);
    const made = bench({ cacheDir });
    const stop = new AbortController();
    const running = made.desired.run(stop.signal);
    expect(await namesOf(made.render(repository, app))).toEqual(['first']);
    expect(await failureOf(made.render(unseen, app))).toBeInstanceOf(CacheUnwritable);
    refusal.end(disk);
    expect(await namesOf(made.render(unseen, app))).toEqual(['unseen']);
    stop.abort(new Shutdown());
    await running;
  });

  it('goes on although an expired mirror cannot be removed, and removes it later', async () => {
    const clock = new FakeClock();
    const disk = smallDisk();
    const cacheDir = join(disk.path, 'cache');
    const before = bench({ clock, cacheDir });
    await before.render(before.repository({ 'app/a.yaml': configMap('first') }), app);
    await clock.advance(30 * 24 * 3_600_000);
    refusal.begin(disk);
    const made = bench({ clock, cacheDir });
    const stop = new AbortController();
    const running = made.desired.run(stop.signal);
    await eventually(() => expect(clock.pending).toBe(1));
    refusal.end(disk);
    await clock.advance(3_600_000);
    await eventually(() => expect(readdirSync(join(cacheDir, 'git'))).toEqual([]));
    stop.abort(new Shutdown());
    await running;
  });

  it('reports the disk for a chart, leaves no part of it, and downloads it once there is space', async () => {
    const disk = smallDisk();
    const made = bench({ cacheDir: join(disk.path, 'cache') });
    const server = await startWebServer();
    try {
      serveChart(server, ['1.0.0']);
      const chart = { repoURL: server.url, chart: 'web', targetRevision: '1.0.0' };
      const request = requestOf(chart, { ...bareRepository(server.url), type: 'helm' });
      const render = (): Promise<unknown> => renderOne(made.desired, request, new AbortController().signal);
      refusal.begin(disk);
      const error = await failureOf(render());
      expect(error).toBeInstanceOf(CacheUnwritable);
      expect(error.message).toContain(`failed to read ${server.url}: `);
      expect(filesIn(join(disk.path, 'cache', 'archives'))).toEqual([]);
      refusal.end(disk);
      // The chart is read even where helm is missing.
      await render().catch((error: unknown) => expect(error).not.toBeInstanceOf(CacheUnwritable));
      expect(filesIn(join(disk.path, 'cache', 'archives'))).toHaveLength(1);
    } finally {
      await server.close();
    }
  });
});

(canMount ? describe : describe.skip)('a disk that becomes full (needs root)', () => {
  it('keeps no private key of which only a part could be written', async () => {
    const disk = smallDisk();
    const made = bench({ cacheDir: join(disk.path, 'cache') });
    // Nothing listens there.
    const url = 'https://127.0.0.1:9/a.git';
    const repository = {
      ...bareRepository(url),
      tlsClientCertData: new SecretValue('certificate'),
      tlsClientCertKey: new SecretValue('key '.repeat(4096)),
    };
    const request = requestOf({ repoURL: url, path: '.' }, repository);
    const render = (): Promise<unknown> => renderOne(made.desired, request, new AbortController().signal);
    expect(await failureOf(render())).not.toBeInstanceOf(CacheUnwritable);
    expect(readdirSync(join(disk.path, 'cache', 'keys'))).toEqual([]);
    // The certificate fits, the key does not.
    disk.fill(8192);
    expect(await failureOf(render())).toBeInstanceOf(CacheUnwritable);
    expect(readdirSync(join(disk.path, 'cache', 'keys'))).toEqual([]);
  });
});

describe('a cache folder', () => {
  it.each(['.', 'git', 'rendered', 'home'])('is built again if %s in it is removed meanwhile', async (folder) => {
    const made = bench();
    const cacheDir = join(made.root, 'cache');
    const repository = made.repository({ 'app/a.yaml': configMap('first') });
    await made.render(repository, app);
    rmSync(join(cacheDir, folder), { recursive: true });
    repository.commit({ 'app/a.yaml': configMap('second') });
    expect(await namesOf(made.render(repository, app, current))).toEqual(['second']);
    // The next process finds it.
    const next = bench({ cacheDir });
    expect(await namesOf(next.render(repository, app))).toEqual(['second']);
    expect(next.count('git', 'cat-file')).toBe(0);
  });

  it('is repaired at the next start, whichever of its files was cut off', async () => {
    const made = bench();
    const repository = made.repository({ 'app/a.yaml': configMap('first') });
    await made.render(repository, app);
    const sound = join(made.root, 'cache');
    const files = filesIn(sound).filter((name) => statSync(join(sound, name)).size > 0);
    expect(files.length).toBeGreaterThan(6);
    for (const [i, file] of files.entries())
      for (const share of [0, 0.5]) {
        const cacheDir = join(made.root, `${i}-${share}`);
        cpSync(sound, cacheDir, { recursive: true });
        rmSync(join(cacheDir, file));
        cpSync(join(sound, file), join(cacheDir, file));
        truncateSync(join(cacheDir, file), Math.floor(statSync(join(sound, file)).size * share));
        const next = bench({ cacheDir });
        const rendered = await next.render(repository, app, current).then(namesIn, messageOf);
        const again = await next.render(repository, app, { cache: renderedAgain }).then(namesIn, messageOf);
        expect({ file, share, rendered, again }).toEqual({ file, share, rendered: ['first'], again: ['first'] });
      }
  });
});
