import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';
import { SecretValue, systemClock, systemRandom } from '#base';
import { createDesiredSource, createInProcessRunner } from '#desired';
import type { Renderer as ProgramRenderer } from '#desired';
import { appKeyOf, defaultSettings } from '#model';
import type { Application, ApplicationSource, AppProject, AppProjectSpec } from '#model';
import { RepositoryIndex } from '#settings';
import { createLogger } from '#telemetry';
import { chartArchive, GitFixture, removeTemporaryFolders, serveGit } from '../../desired/testing/index.ts';
import { Renderer } from '../comparison/rendering.ts';

/** Says that it has every program, and fails to run them: addresses are read and dialled before. */
const noPrograms: ProgramRenderer = {
  name: 'no programs',
  run: () => Promise.resolve(),
  version: () => Promise.resolve('5.4.1'),
  render: () => Promise.reject(new Error('no program ran')),
};

const never = new AbortController().signal;

export interface HostileResult {
  /** The names of the rendered objects, or the error. */
  readonly text: string;
  /** Paths that the server was asked for. */
  readonly dialled: readonly string[];
  /** Of these, the ones that were sent the platform's token. */
  readonly withToken: readonly string[];
}

/**
 * A server with the repositories of several teams, and a controller with one token for all of it
 * (`repo-creds`). Every repository but the public one needs the token.
 */
export class HostileServer {
  readonly host: string;
  readonly #asked: { readonly path: string; readonly hasToken: boolean }[] = [];
  readonly #root: string;
  readonly #server: ReturnType<typeof createServer>;
  readonly #pages = new Map<string, string | Buffer>();

  private constructor(root: string, server: ReturnType<typeof createServer>) {
    this.#root = root;
    this.#server = server;
    this.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(): Promise<HostileServer> {
    const root = mkdtempSync(join(tmpdir(), 'hostile-'));
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const made = new HostileServer(root, server);
    server.on('request', (request, response) => {
      const path = request.url ?? '';
      const hasToken = request.headers.authorization !== undefined;
      made.#asked.push({ path, hasToken });
      const page = made.#pages.get(path);
      if (!hasToken && !path.startsWith('/public/')) response.writeHead(401, { 'www-authenticate': 'Basic' }).end();
      else if (page !== undefined) response.end(page);
      else serveGit(root, request, response);
    });
    return made;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    rmSync(this.#root, { recursive: true, force: true });
    removeTemporaryFolders();
  }

  page(path: string, content: string | Buffer): void {
    this.#pages.set(path, content);
  }

  /** A bare repository with these files. */
  repository(name: string, files: Readonly<Record<string, string>>, more?: (made: GitFixture) => void): void {
    const made = new GitFixture().write(files);
    made.commit();
    more?.(made);
    made.git('commit', '--quiet', '--allow-empty', '-m', 'more');
    execFileSync('git', ['clone', '--quiet', '--bare', made.path, join(this.#root, name)]);
  }

  /** The commit of a repository. */
  head(name: string): string {
    return execFileSync('git', ['-C', join(this.#root, name), 'rev-parse', 'HEAD'], { encoding: 'utf8' }).trim();
  }

  /** Serves a chart repository whose index names these archives. */
  chart(path: string, urls: readonly string[]): void {
    this.page(
      `${path}/index.yaml`,
      `apiVersion: v1\nentries:\n  web:\n  - {version: 1.0.0, urls: ${JSON.stringify(urls)}}\n`,
    );
  }

  archive(path: string): void {
    this.page(path, Buffer.from(chartArchive('web', '1.0.0')));
  }

  /** Renders one source of a project, as a comparison does. */
  async render(source: ApplicationSource, spec: Partial<AppProjectSpec>): Promise<HostileResult> {
    const from = this.#asked.length;
    const text = await renderAsTenant(this.index, source, spec);
    const asked = this.#asked.slice(from);
    return {
      text,
      dialled: [...new Set(asked.map(({ path }) => path))],
      withToken: [...new Set(asked.filter(({ hasToken }) => hasToken).map(({ path }) => path))],
    };
  }

  /** The platform's token for the whole server. */
  get index(): RepositoryIndex {
    const lender = {
      url: `http://${this.host}`,
      type: 'git' as const,
      username: 'platform',
      password: new SecretValue('c4nary-token'),
      insecure: false,
      inheritedCreds: false,
    };
    return new RepositoryIndex([], [{ repository: lender, hasCredentials: true }]);
  }
}

/**
 * Renders one source of a project with the credentials of this index, as a comparison does. Returns
 * the names of the rendered objects, or the error.
 */
export function renderAsTenant(
  index: RepositoryIndex,
  source: ApplicationSource,
  spec: Partial<AppProjectSpec>,
): Promise<string> {
  return rendered(index, source, spec).catch((error: unknown) => (error as Error).message);
}

async function rendered(
  index: RepositoryIndex,
  source: ApplicationSource,
  spec: Partial<AppProjectSpec>,
): Promise<string> {
  const cacheDir = mkdtempSync(join(tmpdir(), 'hostile-cache-'));
  const desired = createDesiredSource({
    clock: systemClock,
    random: systemRandom,
    logger: createLogger({ level: 'error', format: 'json' }),
    cacheDir,
    commands: createInProcessRunner({ clock: systemClock, env }),
    reach: { allowLocal: true },
    renderer: noPrograms,
  });
  const apiVersion = 'argoproj.io/v1alpha1';
  const project: AppProject = { apiVersion, kind: 'AppProject', metadata: { name: 'team-a' }, spec };
  const app: Application = {
    apiVersion,
    kind: 'Application',
    metadata: { name: 'app', namespace: 'argocd' },
    spec: { project: 'team-a', source, destination: { server: 'https://c', namespace: 'a' } },
  };
  const renderer = new Renderer(
    {
      desired,
      clock: systemClock,
      repository: (url, name) => index.find(url, name),
      chartRepositories: () => ({ repositories: [], credentials: [] }),
      decryptionKeys: (secret) => ({ problem: `no Secret ${secret}` }),
    },
    { namespace: 'argocd' },
  );
  try {
    const { objects } = await renderer.dry(
      {
        bound: { app, key: appKeyOf(app), project, settings: defaultSettings },
        sources: [source],
        revisions: [source.targetRevision ?? ''],
        cache: { revision: 'current', manifests: 'rerender' },
        localManifests: [],
      },
      never,
    );
    return objects.map(({ metadata }) => metadata.name).join(' ');
  } finally {
    rmSync(cacheDir, { recursive: true, force: true });
  }
}
