import { currentTenant, untilAborted } from '#base';
import type { Tenant } from '#base';
import type { DesiredSource, Manifests, ManifestsRequest, SourceManifests, VerifyRequest } from '#desired';
import type { ApplicationSource, KubeObject } from '#model';
import { isReferenceOnly } from '#policy';

/** Commits and their manifests; a test pushes commits, and may make reads fail. */
export class FakeGit {
  readonly commits = new Map<string, readonly KubeObject[]>();
  readonly asked: string[] = [];
  readonly rendered: ApplicationSource[] = [];
  readonly requests: ManifestsRequest[] = [];
  head = '';
  failure: Error | undefined;
  /** Which sources fail with `failure`. */
  fails: (source: ApplicationSource) => boolean = () => true;
  /** Signature problems by commit, and all verify requests. */
  readonly problems = new Map<string, readonly string[]>();
  readonly verified: VerifyRequest[] = [];
  gpgFailure: Error | undefined;
  /** Rendering time by the test's clock; undefined: none. */
  takes: ((request: ManifestsRequest, signal: AbortSignal) => Promise<void>) | undefined;
  /** False: signatures are verified during rendering, as in a repo-server. */
  verifiesBefore = true;
  /** Runs while manifests are requested. */
  meanwhile: () => void = () => undefined;

  /** Whether a commit touches watched paths. */
  watchedChange: (from: string, to: string) => boolean = () => true;
  /** Delays the resolution of a source. */
  resolving: ((source: ApplicationSource, signal: AbortSignal) => Promise<void>) | undefined;
  /** On whose behalf each source was rendered. */
  readonly tenants: Tenant[] = [];

  sourceType: SourceManifests['sourceType'] = 'Directory';

  push(sha: string, objects: readonly KubeObject[]): void {
    this.commits.set(sha, objects);
    this.head = sha;
  }

  source(): DesiredSource {
    const resolve = (revision: string): string => (this.commits.has(revision) ? revision : this.head);
    const verify: DesiredSource['verify'] = (request) => {
      this.verified.push(request);
      if (this.gpgFailure !== undefined) return Promise.reject(this.gpgFailure);
      const revision = resolve(request.revision);
      return Promise.resolve({ revision, problems: this.problems.get(revision) ?? [] });
    };
    return {
      name: 'desired',
      run: (signal) => untilAborted(signal),
      resolve: async ({ source, revision }, _cached, signal) => {
        await this.resolving?.(source, signal);
        return resolve(revision);
      },
      dryCommit: (_repository, sha) =>
        Promise.resolve({ author: 'a <a@x>', authoredAt: 0, message: `change ${sha.slice(0, 4)}`, references: [] }),
      hasChanges: ({ from, to }) => Promise.resolve(this.watchedChange(from, to)),
      ...(this.verifiesBefore ? { verify } : {}),
      manifests: async (request, signal): Promise<Manifests> => {
        if (this.takes !== undefined) await this.takes(request, signal);
        this.requests.push(request);
        this.meanwhile();
        const sources: SourceManifests[] = [];
        for (const { source, revision: asked, demand } of request.sources) {
          const revision = resolve(asked);
          const problems = demand === undefined ? [] : (this.problems.get(revision) ?? []);
          if (problems.length > 0) {
            sources.push({ objects: [], revision, sourceType: 'Directory', problems });
            continue;
          }
          if (isReferenceOnly(source)) {
            sources.push({ objects: [], revision, sourceType: '' });
            continue;
          }
          this.asked.push(asked);
          this.rendered.push(source);
          this.tenants.push(currentTenant());
          if (this.failure !== undefined && this.fails(source)) throw this.failure;
          sources.push({ objects: this.commits.get(revision) ?? [], revision, sourceType: this.sourceType });
        }
        return { sources };
      },
    };
  }
}
