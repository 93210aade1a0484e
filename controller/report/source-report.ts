import { isAbort, recordedText } from '#base';
import { shownRepositoryUrl } from '#desired';
import type { CommitFacts } from '#desired';
import { sourcesOf } from '#model';
import type { Application, ApplicationSource } from '#model';
import type { ReportedSource } from './application-facts.ts';

export type CommitLookup = (
  app: Application,
  source: ApplicationSource,
  revision: string,
  signal: AbortSignal,
) => Promise<CommitFacts | undefined>;

const maxSources = 20;

/** The sources of an Application with the commits of its last comparison. */
export function reportSources(
  app: Application,
  commitOf: CommitLookup,
  signal: AbortSignal,
): Promise<readonly ReportedSource[]> {
  const { revision, revisions = revision === undefined ? [] : [revision] } = app.status?.sync ?? {};
  const sources = sourcesOf(app.spec).slice(0, maxSources);
  return Promise.all(
    sources.map(async (source, i) => {
      const compared = revisions[i] ?? '';
      const commit =
        compared === '' ? undefined : await knownCommit(() => commitOf(app, source, compared, signal), signal);
      return {
        repository: shownRepositoryUrl(source.repoURL),
        path: recordedText(source.chart ?? source.path ?? ''),
        targetRevision: recordedText(source.targetRevision ?? ''),
        revision: recordedText(compared),
        ...(commit === undefined ? {} : { commit }),
      };
    }),
  );
}

/** An unusable repository is reported elsewhere: here its commit is unknown. */
async function knownCommit(
  read: () => Promise<CommitFacts | undefined>,
  signal: AbortSignal,
): Promise<CommitFacts | undefined> {
  try {
    return await read();
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof Error && !isAbort(error)) return undefined;
    throw error;
  }
}
