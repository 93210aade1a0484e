import { defined, isAbort, messageOf, outsideText, recordedText, splitUserInfo } from '#base';
import type { Clock } from '#base';
import {
  GenerationPaused,
  ManifestError,
  PluginFailed,
  RevisionNotFound,
  SourceFailed,
  SourcePathError,
  ToolFailed,
  UnsupportedSource,
} from './errors.ts';
import type { DesiredSource, ManifestsRequest, RequestedSource } from './types.ts';

/** How reading one repository went, for display. Times are wall milliseconds. */
export interface RepositoryReport {
  /** Without user, password and secret parameters. */
  readonly url: string;
  readonly lastFetch: {
    readonly at: number;
    readonly durationMs: number;
    readonly ok: boolean;
    readonly message?: string;
  };
  /** Failures to read it; errors of what it contains do not count. */
  readonly failuresInRow: number;
  readonly failingSince: number | undefined;
  readonly lastSuccessAt: number | undefined;
  readonly fetches: number;
  readonly renders: number;
  readonly paused: readonly PausedSourceReport[];
}

export interface PausedSourceReport {
  readonly path: string;
  readonly revision: string;
  readonly message: string;
  readonly since: number;
  /** Undefined: until another commit or a hard refresh. */
  readonly until: number | undefined;
}

export interface ObservedSource {
  readonly source: DesiredSource;
  readonly repositories: () => readonly RepositoryReport[];
}

type MutableReport = { -readonly [K in keyof Omit<RepositoryReport, 'paused'>]: RepositoryReport[K] } & {
  readonly paused: Map<string, PausedSourceReport>;
};

/** The least recently used give way: a tenant may name any number of addresses. */
const maxRepositories = 5000;
const maxPaused = 50;

/**
 * Records how each request to a source went, by repository. A request that the caches answer counts
 * like any other, with its short duration.
 */
export function observeSource(source: DesiredSource, clock: Clock): ObservedSource {
  const reports = new Map<string, MutableReport>();
  const noted = async <T>(
    sources: readonly RequestedSource[],
    isRender: boolean,
    send: () => Promise<T>,
  ): Promise<T> => {
    const [at, began] = [clock.now(), clock.monotonic()];
    try {
      const result = await send();
      for (const one of sources) note(reports, one, { at, durationMs: clock.monotonic() - began, isRender });
      return result;
    } catch (error) {
      const failed = error instanceof SourceFailed ? sources[error.index] : sources[0];
      const durationMs = clock.monotonic() - began;
      if (failed !== undefined && !isAbort(error)) note(reports, failed, { at, durationMs, isRender, error });
      throw error;
    }
  };
  const verify = source.verify?.bind(source);
  const dryCommit = source.dryCommit?.bind(source);
  const hasChanges = source.hasChanges?.bind(source);
  const describe = source.describe?.bind(source);
  return {
    source: {
      name: source.name,
      run: (signal) => source.run(signal),
      ...(source.ready === undefined
        ? {}
        : { ready: (signal: AbortSignal) => source.ready?.(signal) ?? Promise.resolve() }),
      manifests: (request: ManifestsRequest, signal) =>
        noted(request.sources, true, () => source.manifests(request, signal)),
      resolve: (one, revision, signal) => noted([one], false, () => source.resolve(one, revision, signal)),
      ...(verify === undefined ? {} : { verify: (request, signal) => verify(request, signal) }),
      ...defined({ describe, dryCommit, hasChanges }),
    },
    repositories: () =>
      [...reports.values()].map(({ paused, ...report }) => ({ ...report, paused: [...paused.values()] })),
  };
}

/** The repository was read: the fault is in the source. */
const sourceErrors = [ManifestError, PluginFailed, RevisionNotFound, SourcePathError, ToolFailed, UnsupportedSource];

interface NotedRequest {
  readonly at: number;
  readonly durationMs: number;
  readonly isRender: boolean;
  readonly error?: unknown;
}

function note(reports: Map<string, MutableReport>, at: RequestedSource, noted: NotedRequest): void {
  const url = shownRepositoryUrl(at.source.repoURL);
  const report = reports.get(url) ?? newReport(url, noted.at);
  reports.delete(url);
  reports.set(url, report);
  const [oldest] = reports.keys();
  if (reports.size > maxRepositories && oldest !== undefined) reports.delete(oldest);
  const ok = noted.error === undefined;
  const cause = noted.error instanceof SourceFailed ? noted.error.cause : noted.error;
  const message = ok ? {} : { message: recordedText(messageOf(cause)) };
  report.lastFetch = { at: noted.at, durationMs: Math.round(noted.durationMs), ok, ...message };
  report.fetches += 1;
  if (noted.isRender) report.renders += 1;
  const [path, revision] = [recordedText(at.source.path ?? at.source.chart ?? ''), recordedText(at.revision)];
  const pausedKey = `${path} ${revision}`;
  if (cause instanceof GenerationPaused) {
    const { lastFailure, until } = cause;
    pause(report, pausedKey, { path, revision, since: noted.at, until, message: recordedText(lastFailure) });
  } else report.paused.delete(pausedKey);
  // A paused source is not read, so it tells nothing about its repository.
  if (cause instanceof GenerationPaused) return;
  const isRead = ok || sourceErrors.some((type) => cause instanceof type);
  report.failuresInRow = isRead ? 0 : report.failuresInRow + 1;
  report.failingSince = isRead ? undefined : (report.failingSince ?? noted.at);
  if (isRead) report.lastSuccessAt = noted.at;
}

function pause(report: MutableReport, key: string, paused: PausedSourceReport): void {
  if (report.paused.has(key) || report.paused.size >= maxPaused) return;
  report.paused.set(key, paused);
}

/** The address of a repository as reports name it: without user, password and secret parameters. */
export function shownRepositoryUrl(repoURL: string): string {
  return outsideText('url', splitUserInfo(repoURL).url);
}

function newReport(url: string, at: number): MutableReport {
  return {
    url,
    lastFetch: { at, durationMs: 0, ok: true },
    failuresInRow: 0,
    failingSince: undefined,
    lastSuccessAt: undefined,
    fetches: 0,
    renders: 0,
    paused: new Map(),
  };
}
