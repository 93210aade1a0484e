import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { mapLimit, newAbortController, systemClock, systemRandom } from '#base';
import { createDesiredSource, createToolLookup, startCommandHelper, startLocalRenderer } from '#desired';
import type { CommandRunner, DesiredSource, ManifestsRequest, Renderer, RenderRequest } from '#desired';
import { bareRepository } from '#model';
import { silentLogger } from '#telemetry';

// A repository, small sources and the embedded generator, shared by the benchmarks of sources.

export const neverAborted = newAbortController().signal;

/** The objects of each path. */
export async function renderPaths(
  desired: DesiredSource,
  repository: GitRepository,
  paths: readonly string[],
  more: Partial<ManifestsRequest>,
): Promise<readonly (readonly unknown[])[]> {
  return mapLimit(paths, 20, (path) => renderPath(desired, repository, path, more));
}

export async function renderPath(
  desired: DesiredSource,
  repository: GitRepository,
  path: string,
  more: Partial<ManifestsRequest> = {},
): Promise<readonly unknown[]> {
  const source = { repoURL: repository.path, path };
  const request: ManifestsRequest = {
    sources: [{ source, repository: bareRepository(repository.path), revision: 'main' }],
    cluster: { kubeVersion: 'v1.33.1', apiVersions: ['apps/v1', 'v1'] },
    repositories: { repositories: [], credentials: [] },
    options: { kustomizeBuildOptions: '', kustomizeVersions: {}, valuesFileSchemes: [], enabledTypes: {} },
    cache: { revision: 'cached', manifests: 'cached' },
    appName: 'app',
    namespace: 'default',
    project: 'default',
    ...more,
  };
  const { sources: answers } = await desired.manifests(request, neverAborted);
  return answers[0]?.objects ?? [];
}

export interface BenchSource {
  readonly desired: DesiredSource;
  readonly renderer: Renderer;
  readonly ran: (readonly string[])[];
  /** Resolves when the renderer answers. */
  readonly started: () => Promise<void>;
}

/** @param onRequest gets each request to the renderer */
export function createBenchSource(cacheDir: string, onRequest?: (request: RenderRequest) => void): BenchSource {
  const ran: (readonly string[])[] = [];
  // As `driftless run` has it: a small process starts git.
  const runner = startCommandHelper({ logger: silentLogger, env: process.env });
  const commands: CommandRunner = {
    runCommand: (argv, options) => {
      ran.push(argv);
      return runner.runCommand(argv, options);
    },
  };
  const logger = silentLogger;
  const sourceRenderer = renderer(join(cacheDir, 'render'));
  return {
    ran,
    renderer: sourceRenderer,
    started: async () => {
      await sourceRenderer.version('kustomize', undefined, neverAborted);
    },
    desired: createDesiredSource({
      clock: systemClock,
      random: systemRandom,
      logger,
      cacheDir,
      commands,
      renderer: {
        name: sourceRenderer.name,
        run: (signal) => sourceRenderer.run(signal),
        version: (program, binary, signal) => sourceRenderer.version(program, binary, signal),
        render: (request, signal) => {
          onRequest?.(request);
          return sourceRenderer.render(request, signal);
        },
      },
    }),
  };
}

/** As `driftless run` has it; it ends with this process. */
function renderer(folder: string): Renderer {
  return startLocalRenderer({
    clock: systemClock,
    random: systemRandom,
    version: '0.0.0',
    logger: silentLogger,
    settings: {
      folder,
      path: process.env['PATH'] ?? '',
      folders: toolFolders(),
      parallelism: 16,
      memoryBytes: 4 * 2 ** 30,
      maxRequestBytes: 2 ** 30,
      logLevel: 'error',
      logFormat: 'text',
    },
  });
}

export function toolLookup(): ReturnType<typeof createToolLookup> {
  return createToolLookup({ path: process.env['PATH'], folders: toolFolders() });
}

function toolFolders(): readonly string[] {
  const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
  return [join(cache, 'driftless', 'e2e')];
}

export class GitRepository {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
    mkdirSync(path, { recursive: true });
    this.#git('init', '--quiet', '--initial-branch=main');
  }

  commit(files: Readonly<Record<string, string>>): void {
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(join(this.path, name)), { recursive: true });
      writeFileSync(join(this.path, name), content);
    }
    this.#git('add', '--all');
    this.#git('commit', '--quiet', '-m', 'change');
  }

  #git(...args: string[]): void {
    const who = ['-c', 'user.name=a', '-c', 'user.email=a@example.com'];
    const env = { PATH: process.env['PATH'], HOME: this.path, GIT_CONFIG_NOSYSTEM: '1' };
    execFileSync('git', ['-C', this.path, ...who, ...args], { stdio: 'ignore', env });
  }
}

export function deploymentYaml(name: string, image: string): string {
  return `apiVersion: apps/v1
kind: Deployment
metadata:
  name: ${name}
  labels: {app.kubernetes.io/name: ${name}, app.kubernetes.io/part-of: bench}
spec:
  replicas: 3
  selector:
    matchLabels: {app.kubernetes.io/name: ${name}}
  template:
    metadata:
      labels: {app.kubernetes.io/name: ${name}}
    spec:
      containers:
        - name: main
          image: registry.example.com/${name}:${image}
          ports:
            - {containerPort: 8080, name: http}
          env:
            - name: LEVEL
              value: "info"
          resources:
            requests: {cpu: 100m, memory: 64Mi}
            limits: {memory: 128Mi}
          readinessProbe:
            httpGet: {path: /healthz, port: http}
`;
}

export function chartFiles(path: string, name: string): Record<string, string> {
  const manifest = deploymentYaml(name, '{{ .Values.tag }}').replace('replicas: 3', 'replicas: {{ .Values.replicas }}');
  return {
    [`${path}/Chart.yaml`]: `apiVersion: v2\nname: ${name}\nversion: 1.0.0\n`,
    [`${path}/values.yaml`]: 'tag: v1\nreplicas: 2\n',
    [`${path}/templates/deployment.yaml`]: manifest,
    [`${path}/templates/service.yaml`]: `apiVersion: v1\nkind: Service\nmetadata: {name: {{ .Release.Name }}}\nspec: {ports: [{port: 80}]}\n`,
  };
}

export function overlayFiles(path: string, name: string): Record<string, string> {
  return {
    [`${path}/kustomization.yaml`]: `resources: [deployment.yaml]\nnamePrefix: p-\nconfigMapGenerator: [{name: ${name}, literals: [a=b]}]\n`,
    [`${path}/deployment.yaml`]: deploymentYaml(name, 'v1'),
  };
}
