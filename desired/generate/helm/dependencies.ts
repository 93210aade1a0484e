import { messageOf, outsideText } from '#base';
import type { JsonObject } from '#base';
import { DesiredError, SizeLimitExceeded } from '../../errors.ts';
import { parseConstraint, parseVersion } from '../../fetch/shared/semver.ts';
import type { UnreadFiles } from '../../fetch/files/staged-files.ts';
import { packFiles } from '../../fetch/files/tar.ts';
import type { DesiredLimits } from '../../limits.ts';
import type { RenderFile } from '../../render/types.ts';
import { localDependencyFolder, readYaml } from './chart.ts';
import { textOf } from '../options.ts';
import type { RenderJob } from '../plan.ts';
import { chartFiles, packedChartFiles } from './chart-files.ts';
import type { ChartFile, UnreadChart } from './chart-files.ts';
import { cleanDependency, dependenciesIn, lockDigest, lockIn, oldLockDigest } from './chart-lock.ts';
import type { LockedDependency } from './chart-lock.ts';
import { repositoryOf } from './repositories.ts';

/** The files that replace the archives in charts/. */
export interface BuiltDependencies {
  readonly unread: UnreadFiles;
  /** Whether a file of the checkout is an archive of a former dependency. */
  readonly isOutdated: (path: string) => boolean;
}

/**
 * Builds charts/ like `helm dependency build` (helm downloader.Manager): with the versions of
 * Chart.lock or, without it, the highest that the constraints of Chart.yaml allow. Our own client
 * downloads the charts.
 * @param folder the chart's folder in the staging folder
 * @throws DesiredError
 */
export async function buildDependencies(
  job: RenderJob,
  folder: string,
  limits: DesiredLimits,
  signal: AbortSignal,
): Promise<BuiltDependencies> {
  try {
    const wanted = await wantedDependencies(job, signal);
    const archives = new Map<string, UnpackedDependency>();
    for (const dependency of wanted.dependencies) {
      const archive = await foundDependency({ job, isLocked: wanted.isLocked, signal }, dependency);
      if (archive !== undefined) archives.set(archive.path, archive);
    }
    const local = wanted.dependencies.filter(({ repository }) => repository === '').map(({ name }) => name);
    return {
      unread: packedWhenRead(`${folder}/charts`, [...archives.values()], limits),
      isOutdated: (path) => isOutdatedArchive(folder, local, path),
    };
  } catch (error) {
    if (!(error instanceof DesiredError)) throw error;
    const message = `the dependencies of the chart cannot be built: ${messageOf(error)}`;
    throw new DesiredError('DESIRED_RENDER', message, { cause: error });
  }
}

function isOutdatedArchive(folder: string, local: readonly string[], path: string): boolean {
  const name = path.startsWith(`${folder}/charts/`) ? path.slice(folder.length + '/charts/'.length) : '';
  if (!name.endsWith('.tgz') || name.includes('/')) return false;
  return !local.some((chart) => name.startsWith(`${chart}-`));
}

interface WantedDependencies {
  readonly dependencies: readonly LockedDependency[];
  /** The versions come from a lock file. */
  readonly isLocked: boolean;
}

async function wantedDependencies(job: RenderJob, signal: AbortSignal): Promise<WantedDependencies> {
  const read = (name: string): Promise<JsonObject | undefined> =>
    readYaml(job.snapshot, [...job.segments, name], signal);
  const chart = (await read('Chart.yaml')) ?? {};
  const requirements = await read('requirements.yaml');
  const written = (requirements && dependenciesIn(requirements)) ?? dependenciesIn(chart) ?? [];
  const original = written.map(cleanDependency);
  const wanted = original.map((one) => ({ ...one, repository: addressOf(job, one) }));
  const lockFile = (await read('requirements.lock')) ?? (await read('Chart.lock'));
  if (lockFile === undefined) return { dependencies: wanted, isLocked: false };
  const lock = lockIn(lockFile);
  const isOld = ['', 'v1'].includes(textOf(chart, 'apiVersion'));
  const isCurrent =
    lock.digest === lockDigest(wanted, lock.dependencies) || (isOld && lock.digest === oldLockDigest(original));
  if (isCurrent) return { dependencies: lock.dependencies, isLocked: true };
  throw fault(
    isOld
      ? 'the lock file (requirements.lock) is out of sync with the dependencies file (requirements.yaml). Please update the dependencies'
      : "the lock file (Chart.lock) is out of sync with the dependencies file (Chart.yaml). Please update the dependencies with 'helm dependency update'",
  );
}

/** Replaces the name of a repository by its URL. */
function addressOf(job: RenderJob, { repository }: LockedDependency): string {
  return /^(?:@|alias:)/.test(repository) ? (repositoryOf(job, repository)?.url ?? repository) : repository;
}

interface DependencyBuild {
  readonly job: RenderJob;
  readonly isLocked: boolean;
  readonly signal: AbortSignal;
}

/** A dependency that becomes an archive of this name. */
interface UnpackedDependency {
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
  readonly read: (signal: AbortSignal) => Promise<readonly ChartFile[]>;
}

/**
 * Packs the dependencies one after the other when they are read.
 * @throws SizeLimitExceeded
 */
function packedWhenRead(
  folder: string,
  dependencies: readonly UnpackedDependency[],
  { maxCheckoutBytes }: DesiredLimits,
): UnreadFiles {
  const bytes = dependencies.reduce((sum, one) => sum + one.bytes, 0);
  if (bytes > maxCheckoutBytes)
    throw new SizeLimitExceeded(`the dependencies of the chart have more than ${maxCheckoutBytes} bytes`);
  return {
    bytes,
    read: async (signal) => {
      const files: RenderFile[] = [];
      for (const { name, path, read } of dependencies) {
        const inside = (await read(signal)).map((file) => ({ ...file, path: `${name}/${file.path}` }));
        files.push({ path: `${folder}/${path}`, content: await packFiles(inside, signal) });
      }
      return { files, links: [] };
    },
  };
}

/** Undefined for a dependency that already lies in charts/. */
async function foundDependency(
  building: DependencyBuild,
  dependency: LockedDependency,
): Promise<UnpackedDependency | undefined> {
  const { job, isLocked, signal } = building;
  const { name, version, repository } = dependency;
  if (!isLocked || repository === '') checkConstraint(dependency);
  if (repository === '') {
    const folder = [...job.segments, 'charts', ...name.split('/')];
    checkVersion(dependency, await localVersion(building, folder, `charts/${name}`), false);
    return undefined;
  }
  const path = /^file:\/\/(.*)$/.exec(repository)?.[1];
  if (path !== undefined) {
    const folder = localDependencyFolder(job.snapshot, job.segments, path);
    const found = await localVersion(building, folder, path);
    checkVersion(dependency, found, isLocked);
    return archiveOf(name, found, await chartFiles(job.snapshot, folder, signal));
  }
  const found = repositoryOf(job, repository);
  if (found === undefined) throw fault(`no repository definition for ${outsideText('url', repository)}`);
  const snapshot = await job.downloadChart({ repository: found, chart: name, version }, signal);
  return archiveOf(name, snapshot.revision, await packedChartFiles(snapshot, signal));
}

async function localVersion(
  { job, signal }: DependencyBuild,
  folder: readonly string[],
  shown: string,
): Promise<string> {
  const found = job.snapshot.tree.lookup(folder);
  if (found.kind !== 'found' || found.node.kind !== 'directory') throw fault(`directory ${shown} not found`);
  const chart = await readYaml(job.snapshot, [...folder, 'Chart.yaml'], signal);
  if (chart === undefined) throw fault(`unable to load chart '${shown}': Chart.yaml file is missing`);
  return textOf(chart, 'version');
}

function checkConstraint({ name, version }: LockedDependency): void {
  if (parseConstraint(version) === undefined)
    throw fault(`dependency "${name}" has an invalid version/constraint format: improper constraint: ${version}`);
}

function checkVersion({ name, version, repository }: LockedDependency, found: string, isLocked: boolean): void {
  const parsed = parseVersion(found);
  if (parsed !== undefined && parseConstraint(version)?.(parsed) === true) return;
  if (repository === '')
    throw fault(`dependency ${name} at version ${found} does not satisfy the constraint ${version}`);
  if (isLocked) throw fault(`can't get a valid version for dependency ${name}`);
  throw fault(
    `can't get a valid version for 1 subchart(s): "${name}" (repository "${repository}", version "${version}"). Make sure a matching chart version exists in the repo, or change the version constraint in Chart.yaml`,
  );
}

function archiveOf(name: string, version: string, { bytes, read }: UnreadChart): UnpackedDependency {
  const path = `${name}-${version}.tgz`;
  if (!/^[A-Za-z0-9][\w.+-]*$/.test(path)) throw fault(`the name of the dependency ${JSON.stringify(name)} is refused`);
  return { name, path, bytes, read };
}

function fault(message: string): DesiredError {
  return new DesiredError('DESIRED_RENDER', message);
}
