import { describe, expect, it } from '@jest/globals';
import { FakeClock } from '#support';
import { PromMetrics } from '#telemetry';
import { gitMetrics, isRequestType } from './git-metrics.ts';

const hourMs = 3_600_000;

function measured() {
  const clock = new FakeClock();
  const metrics = new PromMetrics();
  const measure = gitMetrics(metrics, clock);
  const totals = async (): Promise<string[]> =>
    (await metrics.expose()).split('\n').filter((line) => line.startsWith('argocd_git_request_total{'));
  return { clock, metrics, measure, totals };
}

describe('metrics of Git servers', () => {
  it('count requests that succeed and fail, with their duration', async () => {
    const { clock, metrics, measure, totals } = measured();
    const slow = measure('https://a/x', 'fetch', clock.sleep(3000, new AbortController().signal));
    await clock.advance(3000);
    await slow;
    await expect(measure('https://a/x', 'fetch', Promise.reject(new Error('gone')))).rejects.toThrow('gone');
    await measure('https://a/x', 'ls-remote', Promise.resolve());
    expect(await totals()).toEqual([
      'argocd_git_request_total{repo="https://a/x",request_type="fetch"} 2',
      'argocd_git_request_total{repo="https://a/x",request_type="ls-remote"} 1',
    ]);
    const text = await metrics.expose();
    const series = 'repo="https://a/x",request_type="fetch"';
    expect(text).toContain(`argocd_git_request_duration_seconds_sum{${series}} 3`);
    expect(text).toContain(`argocd_git_request_duration_seconds_bucket{le="2",${series}} 1`);
    expect(text).toContain(`argocd_git_request_duration_seconds_bucket{le="4",${series}} 2`);
  });

  it('share one series beyond a thousand repositories', async () => {
    const { measure, totals } = measured();
    for (let i = 0; i < 1003; i += 1) await measure(`https://a/${i}`, 'fetch', Promise.resolve());
    const lines = await totals();
    expect(lines).toHaveLength(1001);
    expect(lines).toContain('argocd_git_request_total{repo="",request_type="fetch"} 3');
  });

  it('end for a repository without requests, which makes room for another', async () => {
    const { clock, measure, totals } = measured();
    for (let i = 0; i < 1000; i += 1) await measure(`https://a/${i}`, 'fetch', Promise.resolve());
    await clock.advance(5 * hourMs);
    await measure('https://a/7', 'fetch', Promise.resolve());
    await clock.advance(2 * hourMs);
    expect(await totals()).toEqual(['argocd_git_request_total{repo="https://a/7",request_type="fetch"} 2']);
    await measure('https://b/new', 'fetch', Promise.resolve());
    expect(await totals()).toContain('argocd_git_request_total{repo="https://b/new",request_type="fetch"} 1');
  });

  it.each([
    ['ls-remote', true],
    ['fetch', true],
    ['rev-parse', false],
    [undefined, false],
  ])('measure the git command %s: %s', (command, expected) => {
    expect(isRequestType(command)).toBe(expected);
  });
});
