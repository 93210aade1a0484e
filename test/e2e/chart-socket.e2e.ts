import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '#support';
import type { ChartPod } from '../support/chart-pods.ts';
import { renderChart } from './rendered-controller.ts';

interface User {
  readonly uid: number;
  readonly gid: number;
  readonly groups: readonly number[];
}

/** Listens on the path of --listen for its user and group, like the renderer. */
const listener = `
const path = process.argv.at(-1).slice('--listen=unix:'.length);
const server = require('node:net').createServer((socket) => socket.end('answered'));
server.listen(path, () => require('node:fs').chmodSync(path, 0o660));
`;
/** Connects and prints the answer and the permissions of the folder of the socket. */
const asker = `
const [path] = process.argv.slice(2);
const { mode, uid } = require('node:fs').statSync(require('node:path').dirname(path));
const socket = require('node:net').connect(path, () => undefined);
socket.on('data', (data) => console.log(JSON.stringify({ answer: String(data), uid, othersMayWrite: (mode & 2) !== 0 })));
socket.on('error', ({ code }) => { console.error(code); process.exitCode = 1; });
`;
const socketFolder = '/run/driftless/renderer';
const isRoot = process.getuid?.() === 0;
const suite = isRoot ? describe : describe.skip;

/** User and groups of a container of the chart. */
function userOf(pod: ChartPod, index: number): User {
  const { securityContext: own } = pod.containers[index] ?? {};
  const number = (field: string): number => Number(own?.[field] ?? pod.securityContext?.[field] ?? 0);
  const group = pod.securityContext?.['fsGroup'];
  return { uid: number('runAsUser'), gid: number('runAsGroup'), groups: typeof group === 'number' ? [group] : [] };
}

const asUser = ({ uid, gid, groups }: User): string[] => [
  `--reuid=${uid}`,
  `--regid=${gid}`,
  ...(groups.length === 0 ? ['--clear-groups'] : [`--groups=${groups.join(',')}`]),
];

suite(`the socket of the renderer${isRoot ? '' : ' (left out: changing users needs root)'}`, () => {
  let folder = '';
  let child: ChildProcess | undefined;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'driftless-socket-'));
    chmodSync(folder, 0o711);
    writeFileSync(join(folder, 'listener.cjs'), listener, { mode: 0o644 });
    writeFileSync(join(folder, 'asker.cjs'), asker, { mode: 0o644 });
  });
  afterEach(() => {
    child?.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  /** Creates the emptyDir like the kubelet, and starts the renderer's container with a listener. */
  async function start(values: object): Promise<{ readonly controller: User; readonly ask: (user: User) => unknown }> {
    const objects = await renderChart(values);
    const workload = objects.find(({ kind }) => kind === 'StatefulSet')?.['spec'] as { template: { spec: ChartPod } };
    const pod = workload.template.spec;
    const emptyDir = join(folder, 'socket');
    mkdirSync(emptyDir);
    const [controller, renderer] = [userOf(pod, 0), userOf(pod, 1)];
    const [group] = renderer.groups;
    if (group !== undefined) chownSync(emptyDir, 0, group);
    chmodSync(emptyDir, group === undefined ? 0o777 : 0o2777);
    const args = (pod.containers[1]?.args ?? []).flatMap((arg) =>
      arg === '/usr/local/bin/driftless'
        ? [process.execPath, join(folder, 'listener.cjs')]
        : [arg.replaceAll(socketFolder, emptyDir)],
    );
    child = spawn('setpriv', [...asUser(renderer), ...args], { stdio: 'ignore' });
    const path = join(emptyDir, 'private', 'render.sock');
    const ask = (user: User): unknown => {
      const words = [...asUser(user), process.execPath, join(folder, 'asker.cjs'), path];
      const { stdout, stderr } = spawnSync('setpriv', words, { encoding: 'utf8' });
      return stdout === '' ? stderr : JSON.parse(stdout);
    };
    await eventually(() => expect(ask(renderer)).toMatchObject({ answer: 'answered' }));
    return { controller, ask };
  }

  const none = { runAsUser: null, runAsGroup: null };

  it.each<[string, object, number]>([
    ['with the users of the chart', {}, 65_532],
    [
      'with one group and no group of volumes',
      { global: { securityContext: { fsGroup: null } }, renderer: { securityContext: { runAsGroup: 999 } } },
      65_532,
    ],
    [
      'with users of a platform',
      {
        global: { securityContext: { runAsUser: 1_000_650_000, runAsGroup: null, fsGroup: 1_000_650_000 } },
        renderer: { securityContext: { ...none, runAsUser: 1_000_650_001 } },
      },
      1_000_650_001,
    ],
  ])('answers the controller and no other user, %s', async (_what, values, uid) => {
    const { controller, ask } = await start(values);
    expect(ask(controller)).toEqual({ answer: 'answered', uid, othersMayWrite: false });
    expect(ask({ uid: 4321, gid: 4321, groups: [] })).toContain('EACCES');
  });
});
