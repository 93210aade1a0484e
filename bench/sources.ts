import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { mapLimit, newAbortController, systemClock, systemRandom } from '#base';
import { createDesiredSource, createInProcessRunner, createToolLookup, startLocalRenderer } from '#desired';
import type { CommandRunner, DesiredSource, ManifestsRequest, Renderer } from '#desired';
import { bareRepository } from '#model';
import { silentLogger } from '#telemetry';
import { medianSeconds } from './harness.ts';
import type { BenchContext, Benchmark, BenchMetrics } from './harness.ts';
import { costOf } from './process-tree.ts';
import type { ProcessTreeCost } from './process-tree.ts';

const neverAborted = newAbortController().signal;

/**
 * Cost of sources: a push to a repository of many Applications, a big directory, an unchanged
 * request, and Helm charts and overlays compared with plain helm and kustomize. Uses real git, and
 * the programs if available (on PATH, or built by `npm run e2e:setup`); otherwise omits their
 * figures.
 */
export const sourcesBenchmark: Benchmark = {
  name: 'sources',
  about:
    'fetching and rendering: one push for many Applications, 2,000 manifests, a warm request, 200 Helm charts, 200 overlays',
  run: async (context) => {
    const root = mkdtempSync(join(tmpdir(), 'driftless-bench-'));
    try {
      return {
        ...(await measurePush(join(root, 'push'), context)),
        ...(await measureDirectory(join(root, 'directory'), context)),
        ...(await measureProgram(join(root, 'charts'), helmCost, context)),
        ...(await measureProgram(join(root, 'overlays'), kustomizeCost, context)),
      };
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  },
};

/** A thousand Applications of one repository, twenty at a time, like the status processors. */
async function measurePush(root: string, { smoke }: BenchContext): Promise<BenchMetrics> {
  const size = smoke ? 30 : 1000;
  const changed = smoke ? 3 : 10;
  const apps = Array.from({ length: size }, (_, i) => `apps/app-${i}`);
  const repository = new GitRepository(join(root, 'repo'));
  repository.commit(
    Object.fromEntries(apps.map((path, i) => [`${path}/deployment.yaml`, deploymentYaml(`app-${i}`, 'v1')])),
  );
  const { desired, ran } = createBenchSource(join(root, 'cache'));
  const all = (more: Partial<ManifestsRequest>): ReturnType<typeof renderPaths> =>
    renderPaths(desired, repository, apps, more);
  const before = await all({});
  repository.commit(
    Object.fromEntries(
      apps.slice(0, changed).map((path, i) => [`${path}/deployment.yaml`, deploymentYaml(`app-${i}`, 'v2')]),
    ),
  );
  const ranBefore = ran.length;
  const begin = process.hrtime.bigint();
  const after = await all({ cache: { revision: { notBefore: systemClock.monotonic() }, manifests: 'cached' } });
  const seconds = Number(process.hrtime.bigint() - begin) / 1e9;
  const runs = (word: string): number => ran.slice(ranBefore).filter((argv) => argv.includes(word)).length;
  return {
    push_ls_remote_count: runs('ls-remote'),
    push_fetch_count: runs('fetch'),
    push_changed_count: changed,
    push_rendered_count: after.filter((objects, i) => objects !== before[i]).length,
    push_seconds: seconds,
  };
}

async function measureDirectory(root: string, { smoke }: BenchContext): Promise<BenchMetrics> {
  const size = smoke ? 50 : 2000;
  const repository = new GitRepository(join(root, 'repo'));
  repository.commit(
    Object.fromEntries(Array.from({ length: size }, (_, i) => [`app/${i}.yaml`, deploymentYaml(`app-${i}`, 'v1')])),
  );
  const { desired } = createBenchSource(join(root, 'cache'));
  const once = async (more: Partial<ManifestsRequest>): Promise<void> => {
    await renderPaths(desired, repository, ['app'], more);
  };
  let cpuSeconds = 0;
  const cold = await medianSeconds(smoke ? 1 : 5, async () => {
    const cpu = process.cpuUsage();
    await once({ cache: { revision: 'cached', manifests: 'rerender' } });
    const { user, system } = process.cpuUsage(cpu);
    cpuSeconds = (user + system) / 1e6;
  });
  const requests = smoke ? 20 : 1000;
  const warm = await medianSeconds(smoke ? 1 : 5, async () => {
    for (let i = 0; i < requests; i += 1) await once({});
  });
  return {
    manifests_2000_seconds: cold,
    manifests_2000_cpu_seconds: cpuSeconds,
    warm_request_ms: (warm / requests) * 1000,
  };
}

/** A program, and small sources of its type. */
interface ProgramCost {
  readonly program: 'helm' | 'kustomize';
  /** The name of the sources in metrics. */
  readonly sources: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly files: (path: string, name: string) => Readonly<Record<string, string>>;
}

const helmCost: ProgramCost = {
  program: 'helm',
  sources: 'charts',
  command: 'helm_template',
  args: ['template', 'app', '.', '--namespace', 'default', '--include-crds'],
  files: chartFiles,
};
const kustomizeCost: ProgramCost = {
  program: 'kustomize',
  sources: 'overlays',
  command: 'kustomize_build',
  args: ['build', '.'],
  files: overlayFiles,
};

/** 200 cold sources, compared with two plain processes at once on the same checkout. */
async function measureProgram(root: string, cost: ProgramCost, { smoke }: BenchContext): Promise<BenchMetrics> {
  const binary = toolLookup()(cost.program);
  if (binary === undefined) return {};
  const size = smoke ? 2 : 200;
  const paths = Array.from({ length: size }, (_, i) => `${cost.sources}/${i}`);
  const repository = new GitRepository(join(root, 'repo'));
  repository.commit(
    Object.assign({}, ...paths.map((path, i) => cost.files(path, `app-${i}`))) as Record<string, string>,
  );
  const runner = createInProcessRunner({ clock: systemClock, env: process.env });
  const ours: ProcessTreeCost[] = [];
  const plain: ProcessTreeCost[] = [];
  for (let round = 0; round < (smoke ? 1 : 3); round += 1) {
    const env = { HOME: join(root, `home-${round}`), KUBECONFIG: '/dev/null' };
    const runPlain = async (path: string): Promise<void> => {
      const options = { cwd: join(repository.path, path), env, timeoutMs: 60_000, maxBytes: 1 << 24 };
      const argv = [binary, ...cost.args];
      const { exitCode, stderr } = await runner.runCommand(argv, { ...options, signal: neverAborted });
      if (exitCode !== 0) throw new Error(stderr);
    };
    plain.push(await costOf(() => mapLimit(paths, 2, runPlain)));
    const { desired, started } = createBenchSource(join(root, `cache-${round}`));
    // A replica starts its renderer once, not for each push.
    await started();
    ours.push(await costOf(() => renderPaths(desired, repository, paths, {})));
  }
  return comparedCosts(cost, ours, plain);
}

function comparedCosts(
  { sources, command }: ProgramCost,
  ours: readonly ProcessTreeCost[],
  plain: readonly ProcessTreeCost[],
): BenchMetrics {
  const medianOf = (list: readonly ProcessTreeCost[], key: keyof ProcessTreeCost): number =>
    list.map((cost) => cost[key]).sort((a, b) => a - b)[Math.floor(list.length / 2)] ?? 0;
  const [own, alone] = [medianOf(ours, 'wallSeconds'), medianOf(plain, 'wallSeconds')];
  const [ownCpu, aloneCpu] = [medianOf(ours, 'cpuSeconds'), medianOf(plain, 'cpuSeconds')];
  return {
    [`${sources}_200_seconds`]: own,
    [`${command}_200_seconds`]: alone,
    [`${sources}_to_${command}_ratio`]: own / alone,
    ...(aloneCpu > 0
      ? {
          [`${sources}_200_cpu_seconds`]: ownCpu,
          [`${command}_200_cpu_seconds`]: aloneCpu,
          [`${sources}_to_${command}_cpu_ratio`]: ownCpu / aloneCpu,
        }
      : {}),
  };
}

/** The objects of each path. */
async function renderPaths(
  desired: DesiredSource,
  repository: GitRepository,
  paths: readonly string[],
  more: Partial<ManifestsRequest>,
): Promise<readonly (readonly unknown[])[]> {
  return mapLimit(paths, 20, async (path) => {
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
  });
}

interface BenchSource {
  readonly desired: DesiredSource;
  readonly ran: (readonly string[])[];
  /** Resolves when the renderer answers. */
  readonly started: () => Promise<void>;
}

function createBenchSource(cacheDir: string): BenchSource {
  const ran: (readonly string[])[] = [];
  const runner = createInProcessRunner({ clock: systemClock, env: process.env });
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
    started: async () => {
      await sourceRenderer.version('kustomize', undefined, neverAborted);
    },
    desired: createDesiredSource({
      clock: systemClock,
      random: systemRandom,
      logger,
      cacheDir,
      commands,
      renderer: sourceRenderer,
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

function toolLookup(): ReturnType<typeof createToolLookup> {
  return createToolLookup({ path: process.env['PATH'], folders: toolFolders() });
}

function toolFolders(): readonly string[] {
  const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
  return [join(cache, 'driftless', 'e2e')];
}

class GitRepository {
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

function deploymentYaml(name: string, image: string): string {
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

function chartFiles(path: string, name: string): Record<string, string> {
  const manifest = deploymentYaml(name, '{{ .Values.tag }}').replace('replicas: 3', 'replicas: {{ .Values.replicas }}');
  return {
    [`${path}/Chart.yaml`]: `apiVersion: v2\nname: ${name}\nversion: 1.0.0\n`,
    [`${path}/values.yaml`]: 'tag: v1\nreplicas: 2\n',
    [`${path}/templates/deployment.yaml`]: manifest,
    [`${path}/templates/service.yaml`]: `apiVersion: v1\nkind: Service\nmetadata: {name: {{ .Release.Name }}}\nspec: {ports: [{port: 80}]}\n`,
  };
}

function overlayFiles(path: string, name: string): Record<string, string> {
  return {
    [`${path}/kustomization.yaml`]: `resources: [deployment.yaml]\nnamePrefix: p-\nconfigMapGenerator: [{name: ${name}, literals: [a=b]}]\n`,
    [`${path}/deployment.yaml`]: deploymentYaml(name, 'v1'),
  };
}
