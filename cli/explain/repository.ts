import { counted, joined, RelativeTimes, shortDuration } from '../../api/words/index.ts';
import type { Explanation, RepositoriesResponse, Repository, Verdict } from '#api';
import { normalizeGitUrl } from '#model';

/** Explains one repository as every replica sees it; undefined if no Application uses it. */
export function explainRepository(
  { items, time, incomplete }: RepositoriesResponse,
  url: string,
): Explanation | undefined {
  const views = items.filter((item) => normalizeGitUrl(item.url) === normalizeGitUrl(url));
  if (views.length === 0) return undefined;
  const times = new RelativeTimes(time);
  const [verdict, reason] = verdictOf(views, times);
  return {
    verdict,
    title: `Repository ${views[0]?.url ?? url}`,
    ...(reason === undefined ? {} : { reason }),
    sections: [
      { label: 'Replicas', lines: views.map((view) => viewLine(view, times)) },
      { label: 'Paused', lines: views.flatMap((view) => pausedLines(view, times)) },
      { label: 'Incomplete', lines: incomplete.map(({ replica, reason: why }) => `${replica}: ${why}`) },
    ],
  };
}

function verdictOf(views: readonly Repository[], times: RelativeTimes): readonly [Verdict, string | undefined] {
  const failing = views.find(({ failuresInRow }) => failuresInRow > 0);
  if (failing !== undefined) {
    const { failuresInRow, failingSince, lastFetch } = failing;
    const count = failuresInRow === 1 ? 'the last fetch failed' : `${failuresInRow} fetches failed in a row`;
    return ['broken', joined([count, times.since(failingSince), lastFetch?.message])];
  }
  const paused = views.flatMap((view) => view.paused)[0];
  return paused === undefined
    ? ['healthy', undefined]
    : ['broken', joined([`the source ${paused.path} at ${paused.revision} is paused`, paused.message], ': ')];
}

function viewLine(
  { replica, applications, lastFetch, fetches, renders, lastSuccessAt }: Repository,
  times: RelativeTimes,
): string {
  const fetched =
    lastFetch === undefined
      ? 'not fetched yet'
      : `last fetch ${times.ago(lastFetch.at) ?? ''} in ${shortDuration(lastFetch.durationMs)}${lastFetch.ok ? '' : ' failed'}`;
  return joined([
    `${replica}: ${counted(applications, 'Application')}`,
    fetched,
    lastFetch?.ok === false && lastSuccessAt !== undefined
      ? `last success ${times.ago(lastSuccessAt) ?? ''}`
      : undefined,
    `${fetches} fetches and ${renders} renderings in all`,
  ]);
}

function pausedLines({ paused, replica }: Repository, times: RelativeTimes): readonly string[] {
  return paused.map(({ path, revision, message, since, until }) => {
    const end = times.until(until) ?? 'until another commit or a hard refresh';
    return joined([`${path} at ${revision} (${replica})`, times.since(since), end, message]);
  });
}
