import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { mapLimit, newAbortController, systemClock, systemRandom } from '#base';
import { createDesiredSource, createInProcessRunner, createToolLookup } from '#desired';
import type { CommandRunner, DesiredSource, ManifestsRequest } from '#desired';
import { bareRepository } from '#model';
import { silentLogger } from '#telemetry';
import { collectGarbage, medianSeconds } from './harness.ts';
import type { BenchContext, Benchmark, BenchMetrics } from './harness.ts';

const never = newAbortController().signal;

/**
 * What sources cost: a push to a repository of many Applications, a big directory, a request that changes nothing, and Helm charts against helm
 * itself. Real git, and the real helm where there is one (on PATH, or built by `npm run e2e:setup`); without it those figures are left out.
 */
export const sources: Benchmark = {
  name: 'sources',
  about: 'fetching and rendering: one push for many Applications, 2,000 manifests, a warm request, 200 Helm charts',
  run: async (context) => {
    const root = mkdtempSync(join(tmpdir(), 'driftless-bench-'));
    try {
      return {
        ...(await push(join(root, 'push'), context)),
        ...(await directory(join(root, 'directory'), context)),
        ...(await charts(join(root, 'charts'), context)),
      };
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  },
};

/** A thousand Applications of one repository, twenty at a time, as many as there are status processors. */
async function push(root: string, { smoke }: BenchContext): Promise<BenchMetrics> {
  const size = smoke ? 30 : 1000;
  const changed = smoke ? 3 : 10;
  const apps = Array.from({ length: size }, (_, i) => `apps/app-${i}`);
  const repository = new Repository(join(root, 'repo'));
  repository.commit(
    Object.fromEntries(apps.map((path, i) => [`${path}/deployment.yaml`, deployment(`app-${i}`, 'v1')])),
  );
  const { desired, ran } = generator(join(root, 'cache'));
  const all = (more: Partial<ManifestsRequest>): ReturnType<typeof rendered> =>
    rendered(desired, repository, apps, more);
  const before = await all({});
  repository.commit(
    Object.fromEntries(
      apps.slice(0, changed).map((path, i) => [`${path}/deployment.yaml`, deployment(`app-${i}`, 'v2')]),
    ),
  );
  const ranBefore = ran.length;
  const begin = process.hrtime.bigint();
  const after = await all({ noRevisionCache: true, revisionsSince: systemClock.monotonic() });
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

async function directory(root: string, { smoke }: BenchContext): Promise<BenchMetrics> {
  const size = smoke ? 50 : 2000;
  const repository = new Repository(join(root, 'repo'));
  repository.commit(
    Object.fromEntries(Array.from({ length: size }, (_, i) => [`app/${i}.yaml`, deployment(`app-${i}`, 'v1')])),
  );
  const { desired } = generator(join(root, 'cache'));
  const once = async (more: Partial<ManifestsRequest>): Promise<void> => {
    await rendered(desired, repository, ['app'], more);
  };
  let cpuSeconds = 0;
  const cold = await medianSeconds(smoke ? 1 : 5, async () => {
    const cpu = process.cpuUsage();
    await once({ noCache: true });
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

/** 200 charts cold, against helm alone two at once, on the same checkout of the same charts. */
async function charts(root: string, { smoke }: BenchContext): Promise<BenchMetrics> {
  const tools = toolLookup();
  const helm = tools('helm');
  if (helm === undefined) return {};
  const size = smoke ? 2 : 200;
  const paths = Array.from({ length: size }, (_, i) => `charts/chart-${i}`);
  const repository = new Repository(join(root, 'repo'));
  repository.commit(Object.assign({}, ...paths.map((path, i) => chart(path, `chart-${i}`))) as Record<string, string>);
  const runner = createInProcessRunner({ clock: systemClock, env: process.env });
  const ours: number[] = [];
  const plain: number[] = [];
  for (let round = 0; round < (smoke ? 1 : 3); round += 1) {
    const home = join(root, `home-${round}`);
    plain.push(
      await secondsOf(() =>
        mapLimit(paths, 2, async (path) => {
          const argv = [helm, 'template', 'app', '.', '--namespace', 'default', '--include-crds'];
          const env = { HOME: home, KUBECONFIG: '/dev/null' };
          const options = {
            cwd: join(repository.path, path),
            env,
            timeoutMs: 60_000,
            maxBytes: 1 << 24,
            signal: never,
          };
          const { exitCode, stderr } = await runner.runCommand(argv, options);
          if (exitCode !== 0) throw new Error(stderr);
        }),
      ),
    );
    const { desired } = generator(join(root, `cache-${round}`));
    ours.push(await secondsOf(() => rendered(desired, repository, paths, {})));
  }
  const [own = 0, alone = 1] = [ours, plain].map((list) => list.sort((a, b) => a - b)[Math.floor(list.length / 2)]);
  return { charts_200_seconds: own, helm_template_200_seconds: alone, charts_to_helm_template_ratio: own / alone };
}

async function secondsOf(body: () => Promise<unknown>): Promise<number> {
  collectGarbage();
  const begin = process.hrtime.bigint();
  await body();
  return Number(process.hrtime.bigint() - begin) / 1e9;
}

/** The objects of each path. */
async function rendered(
  desired: DesiredSource,
  repository: Repository,
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
      noRevisionCache: false,
      noCache: false,
      appName: 'app',
      namespace: 'default',
      project: 'default',
      ...more,
    };
    const { sources: answers } = await desired.manifests(request, never);
    return answers[0]?.objects ?? [];
  });
}

function generator(cacheDir: string): { readonly desired: DesiredSource; readonly ran: (readonly string[])[] } {
  const ran: (readonly string[])[] = [];
  const runner = createInProcessRunner({ clock: systemClock, env: process.env });
  const commands: CommandRunner = {
    runCommand: (argv, options) => {
      ran.push(argv);
      return runner.runCommand(argv, options);
    },
  };
  const logger = silentLogger;
  const tools = toolLookup();
  return {
    ran,
    desired: createDesiredSource({ clock: systemClock, random: systemRandom, logger, cacheDir, commands, tools }),
  };
}

function toolLookup(): ReturnType<typeof createToolLookup> {
  const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
  return createToolLookup({ path: process.env['PATH'], folders: [join(cache, 'driftless', 'e2e')] });
}

class Repository {
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

function deployment(name: string, image: string): string {
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

function chart(path: string, name: string): Record<string, string> {
  const manifest = deployment(name, '{{ .Values.tag }}').replace('replicas: 3', 'replicas: {{ .Values.replicas }}');
  return {
    [`${path}/Chart.yaml`]: `apiVersion: v2\nname: ${name}\nversion: 1.0.0\n`,
    [`${path}/values.yaml`]: 'tag: v1\nreplicas: 2\n',
    [`${path}/templates/deployment.yaml`]: manifest,
    [`${path}/templates/service.yaml`]: `apiVersion: v1\nkind: Service\nmetadata: {name: {{ .Release.Name }}}\nspec: {ports: [{port: 80}]}\n`,
  };
}
