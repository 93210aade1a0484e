import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Browser, Locator, Page } from 'playwright-core';
import { eventually, Program, RawApi, serversOf } from '#support';
import { startBrowser, WatchedPage } from './browser.ts';

const apps = '/apis/argoproj.io/v1alpha1/namespaces/argocd/applications';
const deployment = '/apis/apps/v1/namespaces/guestbook/deployments/guestbook-ui';
const maxClicks = 3;
const limitMs = 60_000;

let demo: Program;
let url: string;
let hub: RawApi;
let cluster: RawApi;
let browser: Browser;

beforeAll(async () => {
  browser = await startBrowser();
  demo = new Program(['demo', '--port', '0', '--timeout', '150s']);
  await eventually(() => expect(demo.stdout).toContain('Press Ctrl-C to stop.'), 180_000);
  url = /dashboard: (\S+)/.exec(demo.stderr)?.[1] ?? '';
  const servers = serversOf(/KUBECONFIG=(\S+)/.exec(demo.stdout)?.[1] ?? '');
  hub = new RawApi(servers.get('hub') ?? '');
  cluster = new RawApi(servers.get('sim-1') ?? '');
}, 200_000);
afterAll(async () => {
  await browser.close();
  demo.child.kill('SIGTERM');
  await demo.ended;
}, 30_000);

async function answer<T>(path: string): Promise<T> {
  return (await (await fetch(`${url}/api/v1/${path}`)).json()) as T;
}

/** A visitor: begins at the root, sees only what is in view, and counts its clicks. */
class Visitor {
  readonly page: Page;
  clicks = 0;

  constructor(page: Page) {
    this.page = page;
    page.setDefaultTimeout(limitMs);
  }

  /** Clicks on the first element in view with this text. */
  async click(text: string | RegExp): Promise<void> {
    await this.clickOn(this.page.getByText(text).locator('visible=true').first());
  }

  async clickOn(target: Locator, options: Parameters<Locator['click']>[0] = {}): Promise<void> {
    await target.scrollIntoViewIfNeeded();
    await target.click(options);
    this.clicks += 1;
    expect(this.clicks).toBeLessThanOrEqual(maxClicks);
  }

  /** Waits until the text of the page, as it is shown, matches. */
  async reads(pattern: RegExp): Promise<RegExpMatchArray> {
    return eventually(async () => {
      const found = pattern.exec((await this.page.innerText('main')).replaceAll(/\s+/g, ' '));
      expect(found ?? (await this.page.innerText('main'))).toMatchObject({ index: expect.any(Number) });
      return found!;
    }, limitMs);
  }
}

let watched: WatchedPage;
let visitor: Visitor;

beforeEach(async () => {
  watched = await WatchedPage.open(browser, url);
  visitor = new Visitor(watched.page);
});
afterEach(() => watched.close());

describe('a visitor of the demo, who has never seen the dashboard', () => {
  it('finds who owns a cluster', async () => {
    await visitor.reads(/sim-1/);
    const { clusters } = await answer<{
      clusters: readonly { names: readonly string[]; parts: readonly { owner: string }[] }[];
    }>('ownership');
    const owner = clusters.find(({ names }) => names.includes('sim-1'))?.parts[0]?.owner ?? '?';
    await visitor.click('sim-1');
    expect((await visitor.reads(/Owner (driftless-\d)/))[1]).toBe(owner);
  });

  it('finds why an Application is OutOfSync, and who did it', async () => {
    const app = `${apps}/guestbook-sim-1`;
    await hub.mergePatch(app, { spec: { syncPolicy: null } });
    await eventually(async () => {
      const { application } = await answer<{ application: { isAutomated: boolean } }>(
        'applications/argocd/guestbook-sim-1',
      );
      expect(application.isAutomated).toBe(false);
    }, limitMs);
    await cluster.mergePatch(`${deployment}?fieldManager=kubectl-edit`, { spec: { replicas: 7 } });
    await visitor.clickOn(visitor.page.getByRole('link', { name: /^Applications 1/ }));
    await visitor.click('guestbook-sim-1');
    await visitor.reads(/automated sync is switched off/);
    await visitor.reads(/Deployment guestbook\/guestbook-ui differs in \/spec\/replicas, changed by kubectl-edit/);
    await visitor.reads(/driftless sync guestbook-sim-1/);
    await watched.screenshot('demo-out-of-sync');
    await hub.mergePatch(app, { spec: { syncPolicy: { automated: { prune: true, selfHeal: true } } } });
    await visitor.reads(/It is as Git says, and healthy: /);
  });

  it('finds what a rescale to five would move', async () => {
    const plan = await answer<{ moves: readonly object[]; parts: number }>('plan?replicas=5');
    await visitor.reads(/What if .*Replicas: 3/);
    const slider = visitor.page.getByRole('slider', { name: 'Replicas' });
    const { width = 0, height = 0 } = (await slider.boundingBox()) ?? {};
    // 1 to 8, of which five is the fifth mark.
    await visitor.clickOn(slider, { position: { x: (width * 4) / 7, y: height / 2 } });
    await visitor.reads(/Replicas: 5 now 3/);
    await visitor.reads(new RegExp(`${plan.moves.length} of ${plan.parts} clusters would move`));
    await watched.screenshot('demo-what-if');
  });
});

describe('the page of the demo', () => {
  it('goes on with another replica when the one that it reads from is killed', async () => {
    const { page } = visitor;
    await page.getByText('Live', { exact: true }).waitFor();
    const { replica } = await answer<{ replica: string }>('replica');
    const pid = Number(new RegExp(`${replica} {3}pid (\\d+)`).exec(demo.stdout)?.[1]);
    const lost = page.getByText('Connection lost').waitFor();
    process.kill(pid, 'SIGKILL');
    await lost;
    await page.getByText('Live', { exact: true }).waitFor();
    await hub.mergePatch(`${apps}/waves-sim-0`, { metadata: { labels: { seen: 'yes' } } });
    await page.goto(`${url}/#/applications?view=all&label=seen%3Dyes`);
    await page.getByText(/^1 shown of/).waitFor();
    watched.expectNoFaults();
  });
});
