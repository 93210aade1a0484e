import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { dashboardFiles, startDashboard } from '#dashboard';
import type { RunningDashboard } from '#dashboard';
import { startBrowser, WatchedPage } from './browser.ts';
import { differenceFromKept, differentShare, maxDifferentShare } from './compare-screenshot.ts';
import { FakeApi, treeOf } from './fake-api.ts';
import { drifted } from './drifted.ts';

let browser: Browser;
let dashboard: RunningDashboard;
let watched: WatchedPage | undefined;

beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());
beforeEach(async () => {
  const api = new FakeApi();
  for (let i = 0; i < 60; i += 1) api.put(`shop-${String(i).padStart(2, '0')}`);
  api.put('shop-broken', { health: 'Degraded', attention: 'health is Degraded' });
  api.put('shop-drifted', { sync: 'OutOfSync', isAutomated: false, attention: 'OutOfSync: automated sync is off' });
  api.tree = treeOf(8);
  api.details = { ...drifted, sync: 'OutOfSync' };
  api.clusters[2] = api.ownedCluster(2, 2, { unownedSince: api.ago(42) });
  api.clusters[0] = api.ownedCluster(0, 1, {
    parts: [{ part: 0, slot: 1, home: 1, owner: 'driftless-1', waitsFor: [0] }],
  });
  const { server } = api.clusters[0];
  api.handOvers = [
    { at: api.ago(1), server, part: 0, from: 0, to: 1, epoch: 1042, reason: 'replicas-changed', message: '' },
  ];
  const files = dashboardFiles('dist/dashboard/page');
  dashboard = await startDashboard({ host: '127.0.0.1', port: 0, files, api: api.answer });
});
afterEach(async () => {
  await watched?.close();
  await dashboard.close();
});

async function open(hash: string, ready: string, options: BrowserContextOptions = {}): Promise<WatchedPage> {
  watched = await WatchedPage.open(browser, `${dashboard.url}/${hash}`, options);
  await watched.page.getByText(ready).locator('visible=true').first().waitFor();
  // Parts that are loaded when they are needed.
  await watched.page.waitForLoadState('networkidle', { timeout: 1500 }).catch(() => undefined);
  return watched;
}

const phone = { viewport: { width: 360, height: 740 } };
const dark = { colorScheme: 'dark' } as const;
const application = '#/applications/argocd/shop-drifted';

describe('a page looks as it was kept', () => {
  it.each([
    ['fleet', '#/', 'would move,', {}],
    ['fleet-dark', '#/', 'would move,', dark],
    ['fleet-phone', '#/', 'Hand-overs of the last hour', phone],
    ['applications', '#/applications?view=all', 'shop-broken', {}],
    ['application', application, 'changed by', {}],
    ['application-phone', application, 'changed by', { ...phone, ...dark }],
    ['differences', `${application}?tab=differences`, '/spec/replicas', {}],
    ['tree', `${application}?tab=tree`, 'objects', {}],
    ['cluster', '#/clusters/prod-us', 'Kinds watched by', {}],
    ['time', '#/time', 'CPU', dark],
  ] as const)('%s', async (name, hash, ready, options) => {
    const { page } = await open(hash, ready, options);
    expect(await differenceFromKept(browser, page, name)).toBeLessThanOrEqual(maxDifferentShare);
  });
});

describe('the comparison of screenshots', () => {
  it('notices a missing panel, another colour scheme and another size', async () => {
    const { page } = await open(application, 'changed by');
    const before = await page.screenshot();
    await page.evaluate(`document.querySelector('.panel').remove()`);
    const without = await page.screenshot();
    await page.emulateMedia({ colorScheme: 'dark' });
    const inDark = await page.screenshot();
    await page.setViewportSize({ width: 800, height: 600 });
    const smaller = await page.screenshot();
    const shares: number[] = [];
    for (const other of [before, without, inDark, smaller]) shares.push(await differentShare(browser, [before, other]));
    expect(shares[0]).toBe(0);
    for (const share of shares.slice(1)) expect(share).toBeGreaterThan(maxDifferentShare);
  });
});
