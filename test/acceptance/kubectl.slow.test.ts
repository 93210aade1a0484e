import { execFile, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseYamlDocuments, systemClock, systemRandom } from '#base';
import type { KubeObject } from '#model';
import { kubeconfigFor, startSimCluster } from '#sim';
import type { SimCluster } from '#sim';
import { eventually } from '#support';

/** Tests the simulated API server with the real kubectl. */
const present = ((): boolean => {
  try {
    execFileSync('kubectl', ['version', '--client'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();
const suite = present ? describe : describe.skip;
const title = present ? 'kubectl' : 'kubectl (skipped: install kubectl on PATH to run these tests)';

const deployment = (name: string, extra = ''): string => `apiVersion: apps/v1
kind: Deployment
metadata: {name: ${name}, labels: {app: ${name}}}
spec:
  replicas: 2
  selector: {matchLabels: {app: ${name}}}
  template:
    metadata: {labels: {app: ${name}}}
    spec: {containers: [{name: c, image: "nginx:1"${extra}}]}
`;
const configMap = (name: string, value: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: {k: "${value}"}\n`;

interface Result {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

suite(title, () => {
  let folder: string;
  let cluster: SimCluster;
  let environment: NodeJS.ProcessEnv;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'driftless-kubectl-'));
    const crds = readdirSync('manifests/crds').flatMap(
      (name) => parseYamlDocuments(readFileSync(join('manifests/crds', name), 'utf8')) as unknown as KubeObject[],
    );
    cluster = await startSimCluster({
      name: 'k',
      clock: systemClock,
      random: systemRandom,
      crds,
      workloads: { enabled: true, delayMs: 10 },
    });
    writeFileSync(join(folder, 'config'), kubeconfigFor([cluster]));
    environment = {
      PATH: process.env['PATH'],
      HOME: folder,
      KUBECONFIG: join(folder, 'config'),
      KUBECACHEDIR: join(folder, 'cache'),
      KUBECTL_EXTERNAL_DIFF: 'diff -u',
    };
  });
  afterAll(async () => {
    await cluster.close();
    rmSync(folder, { recursive: true, force: true });
  });

  function kubectl(args: string, input = ''): Promise<Result> {
    return new Promise((done) => {
      const argv = [...args.matchAll(/'([^']*)'|(\S+)/g)].map((match) => match[1] ?? match[2] ?? '');
      const child = execFile('kubectl', argv, { env: environment, timeout: 15_000 }, (error, out, err) => {
        done({ code: error === null ? 0 : (child.exitCode ?? -1), out, err });
      });
      child.stdin?.end(input);
    });
  }

  /** Runs kubectl, which must succeed, and returns its output. */
  async function ok(args: string, input?: string): Promise<string> {
    const result = await kubectl(args, input);
    expect({ args, ...result }).toMatchObject({ args, code: 0 });
    return result.out;
  }

  /** Runs kubectl, which must fail, and returns the error. */
  async function fails(args: string, input?: string): Promise<string> {
    const result = await kubectl(args, input);
    expect({ args, ...result }).toMatchObject({ args, code: expect.any(Number) });
    expect(result.code).not.toBe(0);
    return result.err;
  }

  describe('reads', () => {
    it('api-resources and api-versions', async () => {
      const out = await ok('api-resources --no-headers');
      expect(out).toMatch(/^deployments\s+deploy\s+apps\/v1\s+true\s+Deployment$/m);
      expect(out).toMatch(/^applications\s+app,apps\s+argoproj.io\/v1alpha1\s+true\s+Application$/m);
      expect(await ok('api-versions')).toContain('networking.k8s.io/v1');
    });

    it('get in every form', async () => {
      await ok('create namespace forms');
      await ok('apply -n forms -f -', deployment('web'));
      await ok('rollout status -n forms deploy/web --timeout=10s');
      expect(await ok('get -n forms deploy')).toMatch(
        /^NAME +READY +UP-TO-DATE +AVAILABLE +AGE\nweb +2\/2 +2 +2 +\d+s\n$/,
      );
      expect(await ok('get -n forms deploy -o wide')).toMatch(
        /CONTAINERS +IMAGES +SELECTOR\nweb .* c +nginx:1 +app=web\n$/,
      );
      expect(JSON.parse(await ok('get -n forms deploy web -o json'))).toMatchObject({
        kind: 'Deployment',
        status: { readyReplicas: 2 },
      });
      expect(await ok('get -n forms deploy web -o yaml')).toContain('kind: Deployment\n');
      expect(await ok("get -n forms deploy web -o 'jsonpath={.spec.replicas}'")).toBe('2');
      expect(await ok('get -n forms deploy -o name')).toBe('deployment.apps/web\n');
      expect((await ok('get -n forms pods -l app=web -o name')).trim().split('\n')).toHaveLength(2);
      expect((await ok("get -n forms pods -l 'app notin (web)' -o name")).trim()).toBe('');
      expect(
        (await ok('get -n forms pods --field-selector status.phase=Running -o name')).trim().split('\n'),
      ).toHaveLength(2);
      expect(await ok('get pods -A')).toMatch(/^NAMESPACE +NAME +READY/);
      expect(await fails('get -n forms deploy nope')).toBe(
        'Error from server (NotFound): deployments.apps "nope" not found\n',
      );
    }, 30_000);

    it('get -w shows changes as they happen', async () => {
      await ok('create configmap watched --from-literal=a=1');
      const child = spawn('kubectl', ['get', 'configmap', '-w', '--output-watch-events'], {
        env: environment,
      });
      let seen = '';
      child.stdout.on('data', (chunk) => (seen += String(chunk)));
      await eventually(() => expect(seen).toMatch(/ADDED +watched/), 10_000);
      await ok('label configmap watched x=y');
      await ok('delete configmap watched');
      await eventually(() => expect(seen).toMatch(/MODIFIED +watched[\s\S]*DELETED +watched/), 10_000);
      const ended = new Promise((done) => child.once('close', done));
      child.kill();
      await ended;
    }, 30_000);

    it('explain', async () => {
      expect(await ok('explain deployment.spec.template.spec.containers.image')).toMatch(
        /KIND: +Deployment[\s\S]*FIELD: image <string>/,
      );
      expect(await ok('explain application.spec.destination')).toMatch(
        /FIELD: destination <Object>[\s\S]*server\s+<string>/,
      );
    });

    it('the printer columns of Applications', async () => {
      const app = {
        apiVersion: 'argoproj.io/v1alpha1',
        kind: 'Application',
        metadata: { name: 'a' },
        spec: { project: 'p', destination: {} },
        status: { sync: { status: 'Synced' }, health: { status: 'Healthy' } },
      };
      await ok('create -f -', JSON.stringify(app));
      expect(await ok('get applications')).toMatch(/^NAME +SYNC STATUS +HEALTH STATUS\na +Synced +Healthy\n$/);
      expect(await ok('get app -o wide')).toMatch(/REVISION +PROJECT\na .* p\n$/);
    });
  });

  describe('writes', () => {
    it('create, apply twice, diff', async () => {
      expect(await ok('create -f -', configMap('one', '1'))).toBe('configmap/one created\n');
      expect(await fails('create -f -', configMap('one', '1'))).toContain('(AlreadyExists)');
      expect(await ok('apply -f -', deployment('applied'))).toBe('deployment.apps/applied created\n');
      expect(await ok('apply -f -', deployment('applied'))).toBe('deployment.apps/applied unchanged\n');
      expect((await kubectl('diff -f -', deployment('applied'))).code).toBe(0);
      const changed = deployment('applied', ', env: [{name: A, value: b}]');
      const difference = await kubectl('diff -f -', changed);
      expect([difference.code, difference.out]).toEqual([1, expect.stringMatching(/^\+ +- name: A$/m)]);
      expect(await ok('apply -f -', changed)).toBe('deployment.apps/applied configured\n');
      expect(await ok("get deploy applied -o 'jsonpath={.spec.template.spec.containers[0].env[0].name}'")).toBe('A');
      await ok('apply -f -', deployment('applied'));
      expect(await ok("get deploy applied -o 'jsonpath={.spec.template.spec.containers[0].env}'")).toBe('');
    }, 30_000);

    it('server-side apply: conflict, force, dry run', async () => {
      expect(await ok('apply --server-side -f -', configMap('ssa', '1'))).toBe('configmap/ssa serverside-applied\n');
      const conflict = await fails('apply --server-side --field-manager=other -f -', configMap('ssa', '2'));
      expect(conflict).toContain('Apply failed with 1 conflict: conflict with "kubectl": .data.k');
      expect(
        await ok(
          'apply --server-side --field-manager=other --force-conflicts --dry-run=server -f -',
          configMap('ssa', '2'),
        ),
      ).toContain('serverside-applied (server dry run)');
      expect(await ok("get configmap ssa -o 'jsonpath={.data.k}'")).toBe('1');
      await ok('apply --server-side --field-manager=other --force-conflicts -f -', configMap('ssa', '2'));
      expect(await ok("get configmap ssa -o 'jsonpath={.data.k}'")).toBe('2');
      expect(await ok('get configmap ssa --show-managed-fields -o yaml')).toMatch(/manager: other\n +operation: Apply/);
    });

    it('patch of each type', async () => {
      await ok('apply -f -', deployment('patched'));
      await ok(`patch deploy patched --type=merge -p '{"spec":{"replicas":3}}'`);
      await ok(
        `patch deploy patched --type=json -p '[{"op":"test","path":"/spec/replicas","value":3},{"op":"replace","path":"/spec/replicas","value":1}]'`,
      );
      await ok(
        `patch deploy patched -p '{"spec":{"template":{"spec":{"containers":[{"name":"d","image":"side:1"}]}}}}'`,
      );
      expect(
        await ok("get deploy patched -o 'jsonpath={.spec.replicas} {.spec.template.spec.containers[*].name}'"),
      ).toMatch(/^1 (?:c d|d c)$/);
      expect(await fails(`patch app a -p '{"spec":{"project":"q"}}' --type=strategic`)).toContain(
        'application/strategic-merge-patch+json is not supported by argoproj.io/v1alpha1, Kind=Application',
      );
    });

    it('replace, with a stale version refused', async () => {
      await ok('create configmap swapped --from-literal=k=1');
      const object = JSON.parse(await ok('get configmap swapped -o json')) as { data: Record<string, string> };
      await ok('replace -f -', JSON.stringify({ ...object, data: { k: '2' } }));
      expect(await fails('replace -f -', JSON.stringify({ ...object, data: { k: '3' } }))).toContain('(Conflict)');
      expect(await ok("get configmap swapped -o 'jsonpath={.data.k}'")).toBe('2');
    });

    it('label, annotate, scale, wait', async () => {
      await ok('apply -f -', deployment('scaled'));
      await ok('label deploy scaled tier=front');
      await ok('annotate deploy scaled note=here');
      expect(await ok("get deploy -l tier=front -o 'jsonpath={.items[0].metadata.annotations.note}'")).toBe('here');
      await ok('scale deploy scaled --replicas=3');
      await ok('rollout status deploy/scaled --timeout=10s');
      expect(await ok("get deploy scaled -o 'jsonpath={.status.availableReplicas}'")).toBe('3');
      await ok('wait --for=condition=Available deploy/scaled --timeout=10s');
    }, 30_000);

    it('delete in each cascade mode', async () => {
      for (const mode of ['background', 'foreground', 'orphan']) {
        await ok('apply -f -', deployment(mode));
        await ok(`rollout status deploy/${mode} --timeout=10s`);
        await ok(`delete deploy ${mode} --cascade=${mode} --timeout=10s`);
        const left = mode === 'orphan' ? 2 : 0;
        await eventually(async () => {
          const pods = (await ok(`get pods -l app=${mode} -o name`)).split('\n').filter((line) => line !== '');
          expect([mode, pods.length]).toEqual([mode, left]);
        }, 10_000);
      }
    }, 60_000);

    it('delete a namespace with all its objects', async () => {
      await ok('create namespace leaving');
      await ok('create -n leaving configmap inside --from-literal=k=1');
      await ok('delete namespace leaving --timeout=10s');
      expect(await fails('get namespace leaving')).toContain('(NotFound)');
      expect(await fails('create -n leaving configmap late --from-literal=k=1')).toContain(
        'namespaces "leaving" not found',
      );
    }, 30_000);
  });

  describe('refuses what the real server refuses', () => {
    it.each([
      ['an unknown field', `${configMap('x', '1')}dota: {}\n`, 'BadRequest', 'unknown field "dota"'],
      [
        'a wrong type',
        deployment('x').replace('replicas: 2', 'replicas: many'),
        'BadRequest',
        'cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32',
      ],
      ['a bad name', configMap('Bad_Name', '1'), '', 'metadata.name: Invalid value: "Bad_Name"'],
      [
        'a selector that does not match',
        deployment('x').replace('matchLabels: {app: x}', 'matchLabels: {app: other}'),
        '',
        '`selector` does not match template `labels`',
      ],
      [
        'a missing container image',
        deployment('x').replace('image: "nginx:1"', 'imagePullPolicy: Always'),
        '',
        'spec.template.spec.containers[0].image: Required value',
      ],
      [
        'an Application without destination',
        'apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: bad}\nspec: {project: p}\n',
        '',
        'spec.destination: Required value',
      ],
    ])('%s', async (_name, manifest, reason, text) => {
      const error = await fails('create --validate=strict -f -', manifest);
      expect(error).toContain(text);
      if (reason !== '') expect(error).toContain(`(${reason})`);
      expect(error).not.toContain('InternalError');
    });

    it('a change of an immutable field', async () => {
      await ok('apply -f -', deployment('fixed'));
      const other = deployment('fixed').replaceAll('app: fixed}', 'app: fixed, more: yes1}');
      expect(await fails('apply -f -', other)).toContain('spec.selector: Invalid value');
    });

    it('an unknown kind', async () => {
      expect(await fails('apply -f -', 'apiVersion: nope.example.com/v1\nkind: Nope\nmetadata: {name: x}\n')).toContain(
        'no matches for kind "Nope" in version "nope.example.com/v1"',
      );
    });
  });

  it('serves the kind of a CustomResourceDefinition until that is deleted', async () => {
    const crd = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'widgets.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { plural: 'widgets', singular: 'widget', kind: 'Widget', shortNames: ['wd'] },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: {
              openAPIV3Schema: {
                type: 'object',
                properties: { spec: { type: 'object', required: ['size'], properties: { size: { type: 'integer' } } } },
              },
            },
          },
        ],
      },
    };
    await ok('apply -f -', JSON.stringify(crd));
    await ok('wait --for=condition=Established crd/widgets.example.com --timeout=10s');
    await ok('apply -f -', 'apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {size: 3}\n');
    expect(await ok('get wd -o name')).toBe('widget.example.com/w\n');
    expect(
      await fails(
        'apply --validate=false -f -',
        'apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: v}\nspec: {size: big}\n',
      ),
    ).toContain('spec.size');
    await ok('delete crd widgets.example.com --timeout=10s');
    expect(await fails('get widgets')).toMatch(/the server doesn't have a resource type "widgets"|NotFound/);
  }, 30_000);
});
