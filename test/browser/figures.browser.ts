import { afterAll, beforeAll, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { dashboardFiles, startDashboard } from '#dashboard';
import type { RunningDashboard } from '#dashboard';
import { startBrowser, WatchedPage } from './browser.ts';
import { FakeApi, verdictFor } from './fake-api.ts';

const applicationCount = 10_000;
const changesPerBatch = 40;
const batchMs = 400;
const batches = 25;

let browser: Browser;
let dashboard: RunningDashboard;
const api = new FakeApi();

beforeAll(async () => {
  browser = await startBrowser();
  for (let i = 0; i < applicationCount; i += 1) api.put(`app-${String(i).padStart(5, '0')}`);
  const files = dashboardFiles('dist/dashboard/page');
  dashboard = await startDashboard({ host: '127.0.0.1', port: 0, files, api: api.answer });
});
afterAll(async () => {
  await browser.close();
  await dashboard.close();
});

interface Figures {
  readonly framesMs: readonly number[];
  /** From the begin of each frame until it was drawn. */
  readonly drawnMs: readonly number[];
  /** Tasks of more than 50 ms. */
  readonly longTasksMs: readonly number[];
  readonly firstPaintMs: number;
}

const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(share * values.length)] ?? Number.NaN;

/** Prints the figures of docs/benchmarks.md. They depend on the machine: none is asserted. */
it('keeps drawing while 10,000 Applications change 100 times a second', async () => {
  const watched = await WatchedPage.open(browser, `${dashboard.url}/#/applications?view=all`);
  const { page } = watched;
  await page.getByText('10,000 shown of 10,000').waitFor({ timeout: 60_000 });
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  const taskSeconds = async (): Promise<number> =>
    (await session.send('Performance.getMetrics')).metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0;
  // A message that is sent in a frame is received when the frame was drawn.
  await page.evaluate(`(() => {
    const { port1, port2 } = new MessageChannel();
    window.frames_ = [];
    window.work_ = [];
    window.longTasks_ = [];
    port1.onmessage = ({ data }) => window.work_.push(performance.now() - data);
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) window.longTasks_.push(duration);
    }).observe({ type: 'longtask' });
    (function frame(before) {
      requestAnimationFrame((now) => {
        window.frames_.push(now - before);
        port2.postMessage(performance.now());
        frame(now);
      });
    })(performance.now());
  })()`);
  const before = await taskSeconds();
  for (let batch = 0; batch < batches; batch += 1) {
    const changed = Array.from({ length: changesPerBatch }, (_, i) => {
      const name = `app-${String((batch * 397 + i * 251) % applicationCount).padStart(5, '0')}`;
      const attention = 'OutOfSync';
      const verdict = verdictFor({ attention });
      const app = { ...api.applications.get(`argocd/${name}`)!, sync: 'OutOfSync' as const, attention, verdict };
      api.applications.set(`argocd/${name}`, app);
      return app;
    });
    api.send('applications', { changed, removed: [] });
    await page.waitForTimeout(batchMs);
  }
  const busy = (await taskSeconds()) - before;
  const { framesMs, drawnMs, longTasksMs, firstPaintMs } = await page.evaluate<Figures>(`({
    framesMs: window.frames_,
    drawnMs: window.work_,
    longTasksMs: window.longTasks_,
    firstPaintMs: performance.getEntriesByName('first-contentful-paint')[0].startTime,
  })`);
  const outOfSync = [...api.applications.values()].filter(({ sync }) => sync === 'OutOfSync').length;
  await page.getByText(`10,000 shown of 10,000; ${outOfSync.toLocaleString('en')} need attention`).waitFor();
  process.stdout.write(
    `${JSON.stringify({
      firstPaintMs: Math.round(firstPaintMs),
      frames: framesMs.length,
      frameP50Ms: percentile(framesMs, 0.5),
      frameP95Ms: percentile(framesMs, 0.95),
      drawnP50Ms: percentile(drawnMs, 0.5),
      drawnP95Ms: percentile(drawnMs, 0.95),
      longTasks: longTasksMs.length,
      longestTaskMs: Math.max(0, ...longTasksMs),
      workPerFrameMs: Math.round((10_000 * busy) / framesMs.length) / 10,
      busyShare: Math.round((100 * busy * 1000) / (batches * batchMs)) / 100,
    })}\n`,
  );
  watched.expectNoFaults();
  await watched.close();
});
