import { mkdirSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { SecretValue } from '#base';
import { bareRepository } from '#model';
import type { Repository } from '#model';
import {
  chartArchive,
  chartArtifact,
  selfSigned,
  startRegistry,
  startWebServer,
  tarLayer,
  tgz,
} from '../../../desired/testing/index.ts';
import type { ServedPage, TestRegistry, WebServer } from '../../../desired/testing/index.ts';
import { startGitServer } from '../support/git-server.ts';
import type { GitServer } from '../support/git-server.ts';
import { startSshServer } from '../support/ssh-server.ts';
import { configMap, within } from './case.ts';
import type { CorpusCase, SourceFiles } from './case.ts';
import { commitFiles, tagAndBranch } from './repositories.ts';

const login = { username: 'reader', password: 'a-password-of-this-test' };

/** The servers of the corpus on loopback, which resolve each SourcePlace. */
export interface SourceServers {
  /** Folder of known hosts, in the layout of Argo CD. */
  readonly sshData: string;
  readonly tlsData: string;
  readonly lockedGit: GitServer;
  repository(place: string, caseName: string): Repository;
  close(): Promise<void>;
}

/** Commits and serves the files of all cases. */
export async function startPlaces(folder: string, cases: readonly CorpusCase[]): Promise<SourceServers> {
  const root = join(folder, 'git');
  const charts = await startCharts();
  const locked = await startCharts(login);
  commitCases(root, cases, charts.url);
  const git = await startGitServer({ root });
  const identity = selfSigned(folder, 'git');
  if (identity === undefined) throw new Error('openssl is missing');
  const lockedGit = await startGitServer({ root, tls: identity, login });
  const ssh = cases.some(needsSsh) ? await startSshServer(join(folder, 'ssh')) : undefined;
  const registry = await startArtifacts();
  const [sshData, tlsData] = [join(folder, 'ssh-data'), join(folder, 'tls-data')];
  mkdirSync(sshData);
  mkdirSync(tlsData);
  writeFileSync(join(sshData, 'ssh_known_hosts'), ssh?.knownHosts ?? '');
  writeFileSync(join(tlsData, '127.0.0.1'), identity.cert);
  // Helm refuses plain http from a host for which it has a certificate.
  const registryHost = registry.host.replace('127.0.0.1', 'localhost');
  const access = { username: login.username, password: new SecretValue(login.password) };
  const fixed: Readonly<Record<string, Repository>> = {
    git: bareRepository(`${git.url}/corpus.git`),
    https: { ...bareRepository(`${lockedGit.url}/corpus.git`), ...access },
    ...(ssh && {
      ssh: { ...bareRepository(`${ssh.url}${root}/corpus.git`), sshPrivateKey: new SecretValue(ssh.privateKey) },
    }),
    charts: { ...bareRepository(charts.url), type: 'helm' },
    'locked-charts': { ...bareRepository(locked.url), type: 'helm', ...access },
    registry: { ...bareRepository(`${registryHost}/charts`), type: 'helm', enableOci: true, ociForceHttp: true },
  };
  return {
    sshData,
    tlsData,
    lockedGit,
    repository: (place, caseName) => {
      const [kind = '', name] = place.split(':', 2);
      if (name === undefined || fixed[place] !== undefined) return fixed[place] ?? bareRepository(place);
      if (kind === 'git') return bareRepository(`${git.url}/${caseName}-${name}.git`);
      if (kind === 'https') return { ...bareRepository(`${lockedGit.url}/${caseName}-${name}.git`), ...access };
      if (kind === 'oci')
        return { ...bareRepository(`oci://${registryHost}/charts/${name}`), type: 'oci', ociForceHttp: true };
      return bareRepository(place);
    },
    close: async () => {
      for (const server of [git, lockedGit, ssh, charts, locked, registry.server]) await server?.close();
    },
  };
}

function needsSsh({ source, sources = [] }: CorpusCase): boolean {
  return [source, ...sources].some((one) => one?.at === 'ssh');
}

/**
 * Commits the files of all cases; CHARTS in a file is replaced by the address of the Helm
 * repository.
 */
function commitCases(root: string, cases: readonly CorpusCase[], chartsUrl: string): void {
  const shared: Record<string, string> = {};
  for (const { name, files = {}, repositories = {} } of cases) {
    Object.assign(shared, within(name, files));
    for (const [repository, content] of Object.entries(repositories)) {
      const at = join(root, `${name}-${repository}.git`);
      commitFiles(at, content);
      if (repository === 'r') tagAndBranch(at);
    }
  }
  const addressed = Object.entries(shared).map(([path, text]) => [path, text.replaceAll('CHARTS', chartsUrl)]);
  commitFiles(join(root, 'corpus.git'), Object.fromEntries(addressed) as SourceFiles);
}

const versions = ['1.0.0', '1.0.7', '1.4.0', '2.0.0', '3.0.0-rc.1'];

/** A chart in several versions, and a values file. */
async function startCharts(needed?: typeof login): Promise<WebServer> {
  const server = await startWebServer();
  const expected = needed && `Basic ${Buffer.from(`${needed.username}:${needed.password}`).toString('base64')}`;
  const page = (path: string, body: string | Uint8Array): void => {
    const guarded = ({ headers }: IncomingMessage): ServedPage =>
      expected === undefined || headers.authorization === expected ? { body } : { status: 401 };
    server.pages.set(path, guarded);
  };
  for (const version of versions) page(`/charts/web-${version}.tgz`, webChart(version));
  const entries = versions.map(
    (version) => `  - {name: web, version: ${version}, urls: [charts/web-${version}.tgz]}\n`,
  );
  page('/index.yaml', `apiVersion: v1\nentries:\n  web:\n${entries.join('')}`);
  page('/values/remote.yaml', 'a: from a server\n');
  page('/manifests/far.yaml', configMap('far'));
  return server;
}

const webChart = (version: string): Buffer => chartArchive('web', version, { 'env/prod.yaml': 'a: prod\n' });

async function startArtifacts(): Promise<TestRegistry> {
  const registry = await startRegistry();
  for (const version of versions) registry.push('charts/web', [version], chartArtifact(webChart(version)));
  const content = tgz({ 'app/cm.yaml': configMap('artifact'), 'more/cm.yaml': configMap('more') });
  registry.push('charts/plain', ['v1', '1.0.0', '1.1.0'], { layers: [{ mediaType: tarLayer, content }] });
  return registry;
}
