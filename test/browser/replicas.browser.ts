import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { deployment } from '../acceptance/objects.ts';
import { startBrowser, WatchedPage } from './browser.ts';
import { DashboardReplicas } from './replicas.ts';

/** More than a lease of 16.5 s, on a slow machine. */
const handOverMs = 60_000;
const web = ['apps', 'Deployment', 'apps', 'web'] as const;
const selfHeal = { syncPolicy: { automated: { selfHeal: true } } };

let browser: Browser;
let scene: DashboardReplicas;
const opened: WatchedPage[] = [];

beforeAll(async () => {
  browser = await startBrowser();
  scene = await DashboardReplicas.start();
  scene.rights.set('admin', ['']);
  scene.rights.set('of-team-a', ['team-a']);
  const [first, second] = scene.clusters;
  if (first === undefined || second === undefined) throw new Error('two clusters are needed');
  scene.application('argocd', 'shop', { manifest: deployment(), cluster: first, spec: selfHeal });
  scene.application('team-a', 'blog', {
    manifest: deployment('nginx:1', { name: 'blog' }),
    cluster: second,
    spec: selfHeal,
  });
}, 150_000);
afterAll(async () => {
  await browser.close();
  await scene.close();
});
afterEach(async () => {
  for (const watched of opened.splice(0)) {
    watched.expectNoFaults();
    await watched.close();
  }
});

/** A page on the listener of a replica, signed in. */
async function open(hash: string, { token = 'admin', shard = 0 } = {}): Promise<Page> {
  const watched = await WatchedPage.open(browser, `${scene.url(shard)}/${hash}`, { ignoreHTTPSErrors: true });
  opened.push(watched);
  await watched.page.getByLabel('Kubernetes token').fill(token);
  await watched.page.getByRole('button', { name: 'Sign in' }).click();
  watched.page.setDefaultTimeout(handOverMs);
  return watched.page;
}

describe('the dashboard of running replicas', () => {
  it('shows a drift with who made it, and its repair', async () => {
    const page = await open('#/applications/argocd/shop');
    const badges = page.locator('.badges');
    await badges.getByText('Synced').waitFor();
    await badges.getByText('Healthy').waitFor();
    await page.locator('.source').getByText('a <a@example.com>').waitFor();
    const app = ['argoproj.io', 'Application', 'argocd', 'shop'] as const;
    scene.edit(scene.hub, app, { syncPolicy: {} }, 'kubectl-edit');
    await page.getByText('automated sync is switched off').first().waitFor();
    scene.edit(scene.clusters[0]!, web, { replicas: 5 }, 'kubectl-scale');
    await badges.getByText('OutOfSync').waitFor();
    await page.getByRole('tab', { name: /Differences/ }).click();
    const field = page.locator('.field', { hasText: '/spec/replicas' });
    await field.getByText('kubectl-scale').waitFor();
    expect((await field.textContent())?.replaceAll(/\s+/g, ' ')).toMatch(/Live ?5.*Git ?2/);
    scene.edit(scene.hub, app, selfHeal, 'kubectl-edit');
    await badges.getByText('Synced').waitFor();
    await page.getByText('Every resource is as Git says.').waitFor();
    await page.getByRole('tab', { name: 'Timeline' }).click();
    await page
      .getByText(/Succeeded: successfully synced/)
      .first()
      .waitFor();
  }, 200_000);

  it('shows a token that may see one namespace only that namespace', async () => {
    const page = await open('#/applications?view=all', { token: 'of-team-a' });
    await page.getByText('1 shown of 1').waitFor();
    await page.getByRole('row', { name: /blog/ }).waitFor();
    expect(await page.content()).not.toContain('shop');
    await page.goto(`${scene.url(0)}/#/applications/argocd/shop`);
    await page
      .getByText(/this page needs the right .* in namespace "argocd"/)
      .first()
      .waitFor();
  }, 120_000);

  it('moves a cluster to the stand-in of a replica that leaves, and back, while it is watched', async () => {
    const page = await open('#/');
    const chip = (shard: number) =>
      page.getByRole('list', { name: `Clusters of shard ${shard}` }).getByRole('link', { name: /^c[01]\b/ });
    await page.getByRole('article', { name: 'Shard 1, driftless-1' }).waitFor();
    await chip(1).first().waitFor();
    const moved = /c[01]/.exec((await chip(1).first().textContent()) ?? '')?.[0] ?? '';
    const onShard = (shard: number) => chip(shard).filter({ hasText: moved });
    await scene.stopReplica(1, 'SIGTERM');
    await onShard(0).filter({ hasText: 'stands in for 1' }).waitFor();
    const history = page.getByRole('region', { name: 'Hand-overs of the last hour' }).getByRole('listitem');
    await history.filter({ hasText: moved }).filter({ hasText: 'shard 1 → shard 0' }).first().waitFor();
    scene.startReplica(1);
    await onShard(1).waitFor();
    await history.filter({ hasText: moved }).filter({ hasText: 'shard 0 → shard 1' }).first().waitFor();
    expect(await onShard(0).count()).toBe(0);
  }, 300_000);

  it('stays when its replica is killed, and goes on when the replica is back', async () => {
    const page = await open('#/applications?view=all');
    await page.getByText('2 shown of 2').waitFor();
    await scene.stopReplica(0, 'SIGKILL');
    await page.getByText('Connection lost').waitFor();
    await page.getByRole('row', { name: /shop/ }).waitFor();
    scene.startReplica(0);
    await page.getByText('Live', { exact: true }).waitFor();
    scene.application('team-a', 'late', {
      manifest: deployment('nginx:1', { name: 'late' }),
      cluster: scene.clusters[1]!,
      spec: selfHeal,
    });
    await page.getByRole('row', { name: /late.*Synced.*Healthy/ }).waitFor();
  }, 300_000);
});
