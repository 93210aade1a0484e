import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { dashboardFiles, startDashboard } from '#dashboard';
import type { RunningDashboard } from '#dashboard';
import { eventually } from '#support';
import { startBrowser, WatchedPage } from './browser.ts';
import { drifted } from './drifted.ts';
import { FakeApi, treeOf } from './fake-api.ts';

let browser: Browser;
let api: FakeApi;
let dashboard: RunningDashboard;
const opened: WatchedPage[] = [];

beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

beforeEach(async () => {
  api = new FakeApi();
  for (let i = 0; i < 60; i += 1) api.put(`shop-${String(i).padStart(2, '0')}`);
  const files = dashboardFiles('dist/dashboard/page');
  dashboard = await startDashboard({ host: '127.0.0.1', port: 0, files, api: api.answer });
});
afterEach(async () => {
  for (const page of opened.splice(0)) await page.close();
  await dashboard.close();
});

async function open(hash: string, options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const page = await WatchedPage.open(browser, `${dashboard.url}/${hash}`, options);
  opened.push(page);
  return page;
}

/** Values that name a script, markup, a URL or nothing visible. */
const hostile = [
  '<img src=x onerror=window.hacked=1>',
  '"><script>window.hacked=1</script>',
  'javascript:window.hacked=1',
  `\u202e${'long'.repeat(200)}`,
];

describe('each page', () => {
  const places = [
    ['fleet', '#/', 'Fleet'],
    ['applications', '#/applications?view=all', 'Applications'],
    ['application', '#/applications/argocd/shop-03', 'shop-03'],
    ['differences', '#/applications/argocd/shop-03?tab=differences', 'shop-03'],
    ['tree', '#/applications/argocd/shop-03?tab=tree', 'shop-03'],
    ['timeline', '#/applications/argocd/shop-03?tab=timeline', 'shop-03'],
    ['clusters', '#/clusters', 'Clusters'],
    ['cluster', '#/clusters/prod-eu', 'prod-eu'],
    ['time', '#/time', 'Time'],
  ] as const;

  describe.each(['light', 'dark'] as const)('in %s', (colorScheme) => {
    it.each(places)('has no violation that axe-core finds: %s', async (name, hash, title) => {
      api.tree = treeOf(8);
      api.details = { ...drifted, sync: 'OutOfSync' };
      api.put('shop-broken', { health: 'Degraded', attention: 'health is Degraded' });
      const watched = await open(hash, { colorScheme });
      await watched.page.getByRole('heading', { level: 1, name: title }).waitFor();
      await watched.page.getByText('Reading …').waitFor({ state: 'detached' });
      await watched.screenshot(`${name}-${colorScheme}`);
      await watched.check();
    });
  });

  describe.each([
    [390, 844],
    [768, 1024],
    [1360, 860],
  ])('at %i × %i pixels', (width, height) => {
    it.each(places)('scrolls to its end below a header that stays: %s', async (_name, hash, title) => {
      api.tree = treeOf(8);
      api.details = drifted;
      for (let i = 0; i < 30; i += 1) api.clusters.push(api.ownedCluster(7 + i, i % 3));
      const { page } = await open(hash, { viewport: { width, height } });
      await page.getByRole('heading', { level: 1, name: title }).waitFor();
      await page.getByText('Reading …').waitFor({ state: 'detached' });
      // Parts of the fleet come with other answers.
      await eventually(async () => {
        const seen = await page.evaluate(`(() => {
          const main = document.querySelector('main');
          main.scrollTop = main.scrollHeight;
          scrollTo(0, document.documentElement.scrollHeight);
          const end = [...main.children].at(-1).getBoundingClientRect();
          return {
            headerTop: document.querySelector('header.bar').getBoundingClientRect().top,
            hiddenBelow: document.documentElement.scrollHeight - innerHeight,
            isEndInView: end.bottom <= innerHeight + 1 && end.bottom > main.getBoundingClientRect().top,
          };
        })()`);
        expect(seen).toEqual({ headerTop: 0, hiddenBelow: 0, isEndInView: true });
      });
    });
  });

  it.each(places)(
    'has an outline until its first answer, and is marked as old when the next one fails: %s',
    async (...[name, hash]) => {
      api.tree = treeOf(8);
      const release = api.holdPages();
      const { page } = await open(hash);
      await page.getByText('Reading …').waitFor({ state: 'attached' });
      release();
      await page.getByText('Reading …').waitFor({ state: 'detached' });
      if (name === 'applications') return;
      api.failing = true;
      await page
        .getByRole('alert')
        .getByText(/the replica is overloaded\. Shown is the state from \d+\S+ ago/)
        .first()
        .waitFor({ timeout: 15_000 });
    },
  );

  it.each(places)('fits a phone, and 200 % zoom, without scrolling sideways: %s', async (name, hash, title) => {
    api.tree = treeOf(8);
    api.details = drifted;
    const watched = await open(hash, { viewport: { width: 360, height: 740 } });
    await watched.page.getByRole('heading', { level: 1, name: title }).waitFor();
    await watched.page.waitForTimeout(400);
    await watched.screenshot(`${name}-phone`);
    const overflow = await watched.page.evaluate('document.documentElement.scrollWidth - innerWidth');
    expect(overflow).toBeLessThanOrEqual(0);
    expect(
      await watched.page.evaluate(
        'document.querySelector("main").scrollWidth - document.querySelector("main").clientWidth',
      ),
    ).toBeLessThanOrEqual(0);
  });
});

describe('the fleet', () => {
  it('shows the owner of each cluster, and those without one in words', async () => {
    api.clusters[2] = api.ownedCluster(2, 2, { unownedSince: api.ago(42) });
    const { page } = await open('#/');
    await page
      .getByRole('article', { name: 'Shard 0, driftless-0' })
      .getByRole('link', { name: /prod-eu/ })
      .waitFor();
    const unowned = page.getByRole('region', { name: 'Without an owner' });
    expect(await unowned.textContent()).toMatch(/prod-asia\s*for 4\ds/);
  });

  it('moves a cluster to its new owner while it is watched', async () => {
    const { page } = await open('#/');
    const target = page.getByRole('article', { name: 'Shard 1, driftless-1' });
    await target.waitFor();
    expect(await target.getByRole('link', { name: /prod-eu/ }).count()).toBe(0);
    const { server } = api.clusters[0]!;
    api.clusters[0] = api.ownedCluster(0, 1, {
      parts: [{ part: 0, slot: 1, home: 1, owner: 'driftless-1', waitsFor: [0] }],
    });
    api.handOvers = [
      { at: api.ago(1), server, part: 0, from: 0, to: 1, epoch: 1042, reason: 'replicas-changed', message: '' },
    ];
    api.send('ownership', {});
    await target.getByRole('link', { name: /prod-eu waits for shard 0/ }).waitFor();
    await page.getByText('shard 0 → shard 1').waitFor();
    await page.getByText('the number of replicas changed', { exact: true }).waitFor();
  });

  it('names a replica that is lost', async () => {
    const { page } = await open('#/');
    await page.getByRole('article', { name: 'Shard 2, driftless-2' }).waitFor();
    api.replicas = api.replicas.slice(0, 2);
    await page.getByRole('article', { name: 'Shard 2, no replica' }).getByText('Free').waitFor();
  });

  it('tells what a rescale to five would move', async () => {
    const { page } = await open('#/');
    const slider = page.getByRole('slider', { name: 'Replicas' });
    await slider.fill('5');
    await page.getByText(/4 of 7 clusters would move/).waitFor();
    await page.getByRole('button', { name: 'As it is' }).click();
    await page.getByText('Nothing would move.').waitFor();
  });
});

describe('the list of Applications', () => {
  it('shows first what needs attention, and nothing else until asked', async () => {
    api.put('broken', { sync: 'OutOfSync', attention: 'OutOfSync although automated sync is on' });
    api.put('worse', { health: 'Degraded', attention: 'health is Degraded' });
    const { page } = await open('#/applications');
    await page.getByRole('row', { name: /worse/ }).waitFor();
    const rows = await page.getByRole('row').allTextContents();
    expect(rows.slice(1).map((text) => /worse|broken|shop/.exec(text)?.[0])).toEqual(['worse', 'broken']);
    await page.getByRole('button', { name: 'All', exact: true }).click();
    await page.getByText('62 shown of 62; 2 need attention').waitFor();
  });

  it.each([
    ['project', 'shop', (text: string) => text.includes('shop')],
    ['cluster', 'prod-us', (text: string) => text.includes('prod-us')],
    ['replica', 'driftless-1', (text: string) => text.includes('driftless-1')],
    ['sync', 'OutOfSync', (text: string) => text.includes('OutOfSync')],
    ['health', 'Degraded', (text: string) => text.includes('Degraded')],
    ['operation', 'Failed', (text: string) => text.includes('marked')],
    ['label', 'team=green', (text: string) => text.includes('marked')],
    ['repository', 'https://git.example/one.git', (text: string) => text.includes('marked')],
    ['namespace', 'tenant', (text: string) => text.includes('tenant')],
    ['shard', '2', (text: string) => text.includes('driftless-2')],
  ])('filters by %s, and a link shows the same', async (facet, value, matches) => {
    const marked = { operation: 'Failed', labels: { team: 'green' }, repositories: ['https://git.example/one.git'] };
    api.put('marked', {
      ...marked,
      namespace: 'tenant',
      sync: 'OutOfSync',
      health: 'Degraded',
      attention: 'health is Degraded',
    });
    const { page } = await open('#/applications?view=all');
    await page.getByText('61 shown of 61').waitFor();
    await page.getByText('Filters', { exact: true }).click();
    await page.getByRole('combobox', { name: facet, exact: true }).selectOption(value);
    const shown = async (on: typeof page): Promise<readonly string[]> => {
      await eventually(async () => expect(await on.getByText(/^\d+ shown of 61/).textContent()).not.toMatch(/^61/));
      return (await on.getByRole('row').allTextContents()).slice(1);
    };
    const rows = await shown(page);
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.filter((text) => !matches(text))).toEqual([]);
    const { page: other } = await open(new URL(page.url()).hash);
    expect((await shown(other)).map((text) => text.slice(0, 12))).toEqual(rows.map((text) => text.slice(0, 12)));
  });

  it.each([
    ['its cluster', 'prod-asia'],
    ['a repository', 'git.example/one'],
    ['an image', 'registry.example/marked:9'],
    ['a label', 'team=green'],
    ['its project', 'secret-project'],
  ])('finds an Application by %s', async (_what, text) => {
    api.put('marked', {
      project: 'secret-project',
      clusterName: 'prod-asia-7',
      repositories: ['https://git.example/one.git'],
      images: ['registry.example/marked:9'],
      labels: { team: 'green' },
    });
    const { page } = await open('#/applications?view=all');
    await page.getByRole('searchbox', { name: 'Search' }).fill(text);
    await page.getByRole('row', { name: /marked/ }).waitFor();
  });

  it('says how many matches the view hides, and shows them without forgetting the search', async () => {
    api.put('shop-1-broken', { health: 'Degraded', attention: 'health is Degraded' });
    const { page } = await open('#/applications');
    const search = page.getByRole('searchbox', { name: 'Search' });
    await search.fill('shop-2');
    await page.getByText('No Application that needs attention matches.').waitFor();
    await page.getByRole('button', { name: 'Show 10 more that match the search' }).click();
    await page.getByText('10 shown of 61').waitFor();
    expect(await search.inputValue()).toBe('shop-2');
    await page.getByRole('button', { name: 'Needs attention' }).click();
    await search.fill('shop-1');
    await page.getByText('1 shown of 61').waitFor();
    await page.getByRole('button', { name: 'Show 10 more that match the search' }).waitFor();
  });

  it('shows the part of a reason that tells Applications apart', async () => {
    const prefix = 'ComparisonError: Failed to load target state: failed to generate manifest for source 1 of 1: ';
    api.put('broken', { attention: `${prefix}team/web: no such path "prod"`, health: 'Degraded' });
    const { page } = await open('#/applications');
    const cell = page.getByRole('row', { name: /broken/ }).locator('.cell-attention');
    expect(await cell.textContent()).toBe('source 1 of 1: team/web: no such path "prod"');
    expect(await cell.getAttribute('title')).toContain(prefix);
  });

  it('cuts no state, whatever its words', async () => {
    api.put('busy', { sync: '', health: 'Progressing', operation: 'Terminating' });
    const { page } = await open('#/applications?view=all&text=busy');
    await page.getByRole('row', { name: /busy/ }).waitFor();
    const cut = await page.evaluate(`[...document.querySelectorAll('.row:not(.head) .state')].filter((pill) => {
      const [inner, outer] = [pill.getBoundingClientRect(), pill.parentElement.getBoundingClientRect()];
      return inner.right > outer.right + 0.5 || inner.bottom > outer.bottom + 0.5 || pill.scrollWidth > pill.clientWidth + 1;
    }).map((pill) => pill.textContent)`);
    expect(cut).toEqual([]);
  });

  it('is used without a mouse', async () => {
    const { page } = await open('#/applications?view=all');
    await page.getByRole('row', { name: /shop-00/ }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('shop-1');
    await page.getByText('10 shown of 60').waitFor();
    expect(page.url()).toContain('text=shop-1');
    await page.keyboard.press('Escape');
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('s');
    await page.getByRole('button', { name: 'Favourite shop-11', pressed: true }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'shop-11' }).waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('g');
    await page.keyboard.press('f');
    await page.getByRole('heading', { level: 1, name: 'Fleet' }).waitFor();
  });

  it('shows a change at once, and a new or removed Application', async () => {
    const { page } = await open('#/applications?view=all&text=shop-07');
    await page.getByRole('row', { name: /shop-07.*Synced/ }).waitFor();
    api.change('shop-07', { sync: 'OutOfSync', attention: 'OutOfSync' });
    await page.getByRole('row', { name: /shop-07.*OutOfSync/ }).waitFor();
    api.send('applications', { changed: [api.put('shop-07-new')], removed: ['argocd/shop-07'] });
    await page.getByRole('row', { name: /shop-07-new/ }).waitFor();
    expect(await page.getByRole('row').count()).toBe(2);
  });

  it('has only the rows in view in the page, of ten thousand', async () => {
    for (let i = 0; i < 10_000; i += 1) api.put(`many-${String(i).padStart(5, '0')}`);
    const { page } = await open('#/applications?view=all&sort=name');
    await page.getByText('10,060 shown of 10,060').waitFor();
    expect(await page.getByRole('row').count()).toBeLessThan(60);
    await page.getByRole('table', { name: 'Applications' }).press('End');
    await page.getByRole('row', { name: /shop-59/ }).waitFor();
  });
});

describe('the filters', () => {
  it('offer the values of the moment at which they are opened', async () => {
    const { page } = await open('#/applications?view=all');
    await page.getByText('60 shown of 60').waitFor();
    api.change('shop-07', { sync: 'OutOfSync', labels: { team: 'new' } });
    await page.getByRole('row', { name: /shop-07.*OutOfSync/ }).waitFor();
    await page.getByText('Filters', { exact: true }).click();
    await page.getByRole('combobox', { name: 'label', exact: true }).selectOption('team=new');
    await page.getByText('1 shown of 60').waitFor();
    // Rows that arrive later are filtered, too.
    api.send('applications', { changed: [api.put('late', { sync: 'OutOfSync' })], removed: [] });
    await page.getByText('1 shown of 61').waitFor();
    expect(await page.getByRole('row').count()).toBe(2);
  });
});

describe('the clusters', () => {
  it('are counted, found and sorted, of three hundred; a link shows the same', async () => {
    for (let i = 7; i < 300; i += 1) api.clusters.push(api.ownedCluster(i, i % 3));
    api.put('only', { server: 'https://cluster-250.example' });
    const { page } = await open('#/clusters');
    await page.getByText('300 shown of 300').waitFor();
    const firstName = (on: typeof page): Promise<string | null> =>
      on.locator('tbody tr').first().locator('th a').textContent();
    await page.getByRole('button', { name: 'Applications' }).click();
    await page.getByRole('button', { name: /^Applications/ }).click();
    await page
      .getByRole('columnheader', { name: /Applications/ })
      .and(page.locator('[aria-sort=descending]'))
      .waitFor();
    await page.getByRole('searchbox', { name: 'Search clusters' }).fill('cluster-25');
    await page.getByText('11 shown of 300').waitFor();
    expect(await firstName(page)).toBe('cluster-250');
    const { page: other } = await open(new URL(page.url()).hash);
    await other.getByText('11 shown of 300').waitFor();
    expect(await firstName(other)).toBe('cluster-250');
  });

  it('are listed on a phone with whole words', async () => {
    const { page } = await open('#/clusters', { viewport: { width: 390, height: 844 } });
    await page.getByRole('link', { name: 'prod-asia' }).waitFor();
    const lines: readonly number[] =
      await page.evaluate(`[...document.querySelectorAll('tbody th a, thead button')].map((cell) => {
      const text = document.createRange();
      text.selectNodeContents(cell);
      return new Set([...text.getClientRects()].map(({ top }) => Math.round(top))).size;
    })`);
    expect(Math.max(...lines)).toBe(1);
  });
});

describe('the charts', () => {
  it('leave gaps where there is no data, and show a single value as a point', async () => {
    api.editHistory = (samples) => [...samples.slice(0, 100), ...samples.slice(200, 201), ...samples.slice(300)];
    const { page } = await open('#/time?replica=driftless-0');
    await page.getByRole('img', { name: /^Heap/ }).waitFor();
    const painted =
      await page.evaluate(`new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => {
      const canvas = document.querySelector('[aria-label^="Heap"] canvas');
      const { width, height } = canvas;
      const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
      const box = canvas.parentElement.querySelector('.u-over').getBoundingClientRect();
      const scale = width / canvas.getBoundingClientRect().width;
      const left = (box.left - canvas.getBoundingClientRect().left) * scale;
      // Columns with a saturated colour: those of the line or the point.
      resolve(Array.from({ length: 36 }, (_, part) => {
        const [from, to] = [part, part + 1].map((i) => Math.floor(left + (i * box.width * scale) / 36));
        for (let x = from; x < to; x += 1) for (let y = 0; y < height; y += 1) {
          const at = (y * width + x) * 4;
          const [r, g, b, a] = data.slice(at, at + 4);
          if (a > 200 && Math.max(r, g, b) - Math.min(r, g, b) > 80) return '#';
        }
        return '.';
      }).join(''));
    })))`);
    expect(painted).toMatch(/^#{9,11}\.{8,10}#{1,2}\.{7,10}#{5,7}$/);
  });
});

describe('an Application', () => {
  it('shows what differs, who changed it and when', async () => {
    api.change('shop-03', { sync: 'OutOfSync' });
    api.details = drifted;
    const { page } = await open('#/applications/argocd/shop-03');
    await page.getByText(/\/spec\/replicas: 5 instead of 3, changed by kubectl-scale \(Update scale\) \d+m/).waitFor();
    await page.getByRole('tab', { name: /Differences/ }).click();
    const field = page.locator('.field', { hasText: '/spec/replicas' });
    expect(await field.textContent()).toMatch(/changed by kubectl-scale \(Update scale\) \d+m.*ago/);
    expect(page.url()).toContain('tab=differences');
    await page.getByRole('button', { name: 'Unified' }).click();
    expect(await page.locator('.diff-lines').count()).toBe(2);
  });

  it('follows a drift until it is repaired', async () => {
    api.details = drifted;
    api.change('shop-03', { sync: 'OutOfSync' });
    const { page } = await open('#/applications/argocd/shop-03');
    await page.locator('.badges').getByText('OutOfSync').waitFor();
    api.details = {};
    api.change('shop-03', { sync: 'Synced' });
    await page.getByText(/^It is as Git says, and healthy: /).waitFor({ timeout: 2000 });
  });

  it('shows a running operation with its phase, its wave and what blocks it', async () => {
    api.change('shop-03', { operation: 'Running' });
    api.details = {
      lastOperation: {
        type: 'sync',
        phase: 'Running',
        message: 'waiting for healthy state of batch/Job/migrate',
        startedAt: api.ago(12),
        initiatedBy: 'automated sync',
        revisions: ['a'.repeat(40)],
        retries: 0,
        syncPhase: 'Sync',
        wave: 2,
        blockedBy: {
          type: 'health',
          message: 'is Progressing',
          object: { group: 'batch', kind: 'Job', namespace: 'web', name: 'migrate' },
        },
        resources: [],
      },
    };
    const { page } = await open('#/applications/argocd/shop-03');
    await page.getByRole('list', { name: 'Phases of the sync' }).getByText('wave 2').waitFor();
    await page.getByText(/^Blocked by Job web\/migrate: is Progressing/).waitFor();
  });

  it('has the commands that a person runs next', async () => {
    const { page } = await open('#/applications/argocd/shop-03');
    const commands = page.getByRole('region', { name: 'Commands' });
    await commands.getByText('driftless sync shop-03 -n argocd').waitFor();
    api.change('shop-03', { operation: 'Running' });
    await commands.getByText('driftless terminate shop-03 -n argocd').waitFor();
    expect(await commands.getByText('driftless sync').count()).toBe(0);
  });

  it('shows each source with its revision, the author and the message', async () => {
    const { page } = await open('#/applications/argocd/shop-03');
    const source = page.locator('.source');
    await source.getByText('git.example/team/web prod @ 8f14e45 (main)').waitFor();
    expect(await source.textContent()).toMatch(/raise the replicas of web.*Ada Lovelace <ada@example.com>, \d+[hm]/);
  });

  it('draws its tree; a group opens, and an object shows its details', async () => {
    api.tree = treeOf(8);
    const { page } = await open('#/applications/argocd/shop-03?tab=tree');
    await page.getByText('13 objects').waitFor();
    await page.getByRole('button', { name: /Pod.*8 objects.*Degraded/ }).click();
    await page.getByRole('button', { name: /web-5d8f7-3.*Degraded/ }).click();
    const details = page.getByRole('complementary', { name: 'web-5d8f7-3' });
    expect(await details.textContent()).toContain('web:1');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Zoom in' }).click();
    await page.getByRole('button', { name: /Job.*hook.*wave -1.*migrate/ }).waitFor();
  });

  it('shows what a missing object would be, and what Git does not have', async () => {
    const object = { group: '', version: 'v1', kind: 'ConfigMap', namespace: 'web' };
    const rest = { fields: [], faults: [], ignored: [] };
    api.details = {
      differencesTotal: 2,
      differences: [
        { ...object, name: 'new', state: 'missing', manifest: 'data:\n  size: "3"\n', ...rest },
        { ...object, name: 'old', state: 'extra', manifest: 'data:\n  colour: red\n', ...rest },
      ],
    };
    const { page } = await open('#/applications/argocd/shop-03?tab=differences');
    const card = (name: string) => page.getByRole('region', { name: `ConfigMap web/${name}` });
    await card('new').getByText('size: "3"').waitFor();
    expect(await card('new').locator('.added').textContent()).toMatch(/^\+ Git/);
    expect(await card('old').locator('.removed').textContent()).toMatch(/^− Live.*colour: red/s);
  });

  it('shows the manifests of an object side by side, and commands for its events and logs', async () => {
    api.tree = treeOf(3);
    api.manifests = { live: 'kind: Pod\nphase: Pending\n' };
    const watched = await open('#/applications/argocd/shop-03?tab=tree');
    const { page } = watched;
    await page.getByRole('button', { name: /Pod.*web-5d8f7-1/ }).click();
    const details = page.getByRole('complementary', { name: 'web-5d8f7-1' });
    await details.getByRole('button', { name: 'Manifests' }).click();
    await details.getByRole('region', { name: 'Live' }).getByText('phase: Pending').waitFor();
    await details.getByRole('region', { name: 'Git' }).getByText('It is not in the manifests.').waitFor();
    await details.getByText('kubectl -n web describe Pod web-5d8f7-1').waitFor();
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await details.getByRole('button', { name: /^Copy kubectl -n web logs/ }).click();
    await details.getByText('Copied').waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(
      'kubectl -n web logs web-5d8f7-1 --all-containers --tail=200',
    );
    await watched.check();
  });

  it('shows what was reported about an object, and the log of each container of a Pod', async () => {
    api.tree = treeOf(3);
    api.events = {
      items: [
        {
          type: 'Warning',
          reason: 'BackOff',
          message: 'restarting',
          reporter: 'kubelet',
          count: 4,
          lastAt: api.ago(9),
        },
      ],
    };
    api.logOf = (query) => {
      const [container = 'web', isPrevious] = [query.get('container') ?? undefined, query.get('previous') === 'true'];
      const none = { container, containers: ['web', 'proxy'], text: '' };
      return isPrevious
        ? { ...none, message: 'no terminated container' }
        : { ...none, text: `hello from ${container}` };
    };
    const watched = await open('#/applications/argocd/shop-03?tab=tree');
    const { page } = watched;
    await page.getByRole('button', { name: /Pod.*web-5d8f7-1/ }).click();
    const details = page.getByRole('complementary', { name: 'web-5d8f7-1' });
    await details.getByRole('button', { name: 'Events' }).click();
    await details.getByRole('region', { name: 'Events' }).getByText('restarting').waitFor();
    await details.getByText('4 times').waitFor();
    await details.getByRole('button', { name: 'Log', exact: true }).click();
    const log = details.getByRole('region', { name: 'Log' });
    await log.getByText('hello from web').waitFor();
    const container = log.getByRole('combobox', { name: 'Container' });
    const release = api.holdPages();
    await container.selectOption('proxy');
    await log.getByText('hello from web').waitFor({ state: 'detached' });
    expect(await container.inputValue()).toBe('proxy');
    expect(await container.getByRole('option').allTextContents()).toEqual(['web', 'proxy']);
    release();
    await log.getByText('hello from proxy').waitFor();
    await log.getByRole('checkbox', { name: 'Before its last restart' }).check();
    await log.getByText('no terminated container').waitFor();
    // The Pod was created again, with one container.
    api.logOf = () => ({ container: 'web', containers: ['web'], text: 'one is left' });
    await log.getByText('one is left').waitFor();
    expect(await log.getByRole('combobox', { name: 'Container' }).inputValue()).toBe('web');
    await watched.check();
  });

  it('finds an object in a group of four hundred', async () => {
    api.tree = treeOf(400);
    const { page } = await open('#/applications/argocd/shop-03?tab=tree');
    await page.getByRole('button', { name: /400 objects/ }).waitFor();
    await page.getByRole('searchbox', { name: 'Find objects' }).fill('5d8f7-39');
    await page.getByRole('button', { name: /11 objects/ }).click();
    await page.getByRole('button', { name: /web-5d8f7-399/ }).click();
    await page.getByRole('complementary', { name: 'web-5d8f7-399' }).waitFor();
    // Its owners stay.
    await page
      .getByRole('button', { name: /ReplicaSet.*web-5d8f7/ })
      .first()
      .waitFor();
  });

  it('draws a tree of 5000 objects, grouped, and opens a part of it', async () => {
    api.tree = treeOf(4995);
    const { page } = await open('#/applications/argocd/shop-03?tab=tree');
    await page.getByText('5,000 objects').waitFor();
    expect(await page.locator('.tree-node').count()).toBe(7);
    await page.getByRole('button', { name: /4995 objects/ }).click();
    await page.getByRole('button', { name: /40 of 4995 shown/ }).waitFor();
    expect(await page.locator('.tree-node').count()).toBe(47);
  });

  it('that does not exist is a message', async () => {
    const { page } = await open('#/applications/argocd/none');
    await page.getByRole('alert').getByText('there is no applications/argocd/none').waitFor();
  });
});

describe('hostile texts', () => {
  it.each(hostile)('stay text on every page: %s', async (text) => {
    api.clusters[0] = api.ownedCluster(0, 0, { names: [text] });
    api.replicas[0] = api.replica(0, { name: 'driftless-0', reason: text });
    api.put(text, {
      project: text,
      clusterName: text,
      attention: text,
      health: text,
      labels: { [text]: text },
      repositories: [text],
      server: text,
    });
    const object = { group: text, kind: text, namespace: text, name: text };
    api.tree = [
      {
        ...object,
        version: text,
        parents: [],
        health: text,
        healthMessage: text,
        sync: text,
        isHook: false,
        isMissing: false,
        images: [text],
        details: [{ name: text, value: text }],
      },
    ];
    api.details = {
      sources: [
        {
          repository: text,
          path: text,
          targetRevision: text,
          revision: text,
          commit: { author: text, at: api.ago(60), subject: text },
        },
      ],
      conditions: [{ type: text, message: text }],
      differencesTotal: 1,
      differences: [
        {
          ...object,
          version: text,
          state: 'modified',
          fields: [{ path: text, desired: JSON.stringify(text), live: text, isMasked: false }],
          faults: [text],
          ignored: [],
          contestedBy: text,
        },
      ],
    };
    const name = encodeURIComponent(text);
    for (const hash of [
      '#/',
      '#/applications?view=all',
      `#/applications/argocd/${name}`,
      `#/applications/argocd/${name}?tab=differences`,
      `#/applications/argocd/${name}?tab=tree`,
      `#/clusters/${name}`,
    ]) {
      const watched = await open(hash);
      await watched.page.getByText(text.slice(0, 12)).locator('visible=true').first().waitFor();
      expect(await watched.page.evaluate('window.hacked')).toBeUndefined();
      expect(await watched.page.locator('img, main script, a[href^="javascript:"]').count()).toBe(0);
      watched.expectNoFaults();
    }
  });
});

describe('a connection', () => {
  it('that is lost is shown; what was read stays, and it continues where it was', async () => {
    const { page } = await open('#/applications?view=all');
    await page.getByRole('row', { name: /shop-00/ }).waitFor();
    api.change('shop-00', { sync: 'OutOfSync' });
    await page.getByRole('row', { name: /shop-00.*OutOfSync/ }).waitFor();
    api.die();
    await page.getByText('Connection lost').waitFor();
    await page.getByRole('row', { name: /shop-00.*OutOfSync/ }).waitFor();
    api.isDown = false;
    await page.getByText('Live', { exact: true }).waitFor();
    expect(api.lastEventIds).toEqual(['fake-1']);
  });
});

describe('the page', () => {
  it('loads nothing from elsewhere, sets no cookie, and its policy stops what is inline', async () => {
    const { page } = await open('#/');
    const origins: string[] = [];
    page.on('request', (request) => origins.push(new URL(request.url()).origin));
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Fleet' }).waitFor();
    expect([...new Set(origins)]).toEqual([dashboard.url]);
    expect(await page.context().cookies()).toEqual([]);
    const markup = await page.evaluate(`(() => {
      try {
        document.createElement('div').innerHTML = '<b>markup</b>';
        return 'allowed';
      } catch (error) {
        return error.name;
      }
    })()`);
    expect(markup).toBe('TypeError');
    const blocked = await page.evaluate(`new Promise((resolve) => {
      addEventListener('securitypolicyviolation', (event) => resolve(event.effectiveDirective));
      const style = document.createElement('style');
      style.textContent = 'body { display: none }';
      document.head.append(style);
    })`);
    expect(blocked).toBe('style-src-elem');
  });
});
