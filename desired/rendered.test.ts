import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { seededRandom } from '#base';
import type { KubeObject } from '#model';
import { FakeClock } from '#support';
import { silentLogger } from '#telemetry';
import { DiskCache } from './fetch/shared/disk-cache.ts';
import { defaultLimits } from './limits.ts';
import { RenderedCache } from './rendered.ts';

let cacheDir = '';
beforeAll(() => {
  cacheDir = mkdtempSync(join(tmpdir(), 'driftless-rendered-'));
});
afterAll(() => rmSync(cacheDir, { recursive: true, force: true }));

const clock = new FakeClock();
const started = (): RenderedCache =>
  new RenderedCache({ cacheDir, clock, random: seededRandom(1), logger: silentLogger, limits: defaultLimits });

function configMaps(count: number): readonly KubeObject[] {
  return Array.from({ length: count }, (_, i) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: `c${i}` },
    data: { text: 'the same words in each object' },
  }));
}

describe('rendered manifests on disk', () => {
  it.each([
    ['none', 0],
    ['few', 1],
    ['many', 1000],
  ])('are read by the next process: %s', async (name, count) => {
    const objects = configMaps(count);
    await started().set(name, { objects, bytes: 1 }, 'default');
    expect((await started().get(name, 'default'))?.objects).toEqual(objects);
  });

  it('are not kept there with an object without a name, whose file would be lost', async () => {
    const [object] = configMaps(1);
    const unnamed = [{ object: { ...object!, metadata: {} }, where: 'app/a.yaml' }];
    const cache = started();
    await cache.set('unnamed', { objects: unnamed.map((one) => one.object), unnamed, bytes: 1 }, 'default');
    expect((await cache.get('unnamed', 'default'))?.unnamed).toEqual(unnamed);
    expect(await started().get('unnamed', 'default')).toBeUndefined();
  });

  it('are packed if that saves disk', () => {
    expect(readdirSync(join(cacheDir, 'rendered'))).toEqual(expect.arrayContaining(['few', 'many']));
    expect(readFileSync(join(cacheDir, 'rendered', 'many')).length).toBeLessThan(1000 * 29);
  });

  it('are read if an earlier version packed few of them, too', async () => {
    const root = join(cacheDir, 'rendered');
    const disk = new DiskCache({ root, clock, random: seededRandom(2), maxBytes: 1e6, maxAgeMs: 1e9 });
    await disk.set('packed', gzipSync(JSON.stringify(configMaps(1)[0])));
    expect((await started().get('packed', 'default'))?.objects).toEqual(configMaps(1));
  });
});
