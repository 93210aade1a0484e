import { execFileSync, spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newAbortController, Shutdown, systemClock } from '#base';
import { eventually } from '#support';
import { scriptRequest, startTestRenderer } from '../testing/render-service.ts';
import type { TestRenderer } from '../testing/render-service.ts';
import { mapUsers } from './wall.ts';

const never = new AbortController().signal;

describe('a wall that is not possible', () => {
  const reasonFor = (program: string): Promise<unknown> => {
    const base = spawn(program, [], { stdio: 'ignore' });
    base.on('error', () => undefined);
    return mapUsers(base, systemClock, never).catch((error: unknown) => error);
  };

  it('names what is missing and how to permit it when the kernel refuses namespaces', async () => {
    expect(await reasonFor('false')).toMatchObject({
      message: expect.stringMatching(
        /^user namespaces are not allowed: allow unshare in the seccomp .* set the sysctl/,
      ),
    });
  });

  it('names the program that is missing', async () => {
    expect(await reasonFor('/nowhere/unshare')).toMatchObject({
      message: 'the program unshare of util-linux cannot be started',
    });
  });
});

const isRoot = process.getuid?.() === 0;

/** Whether this kernel allows all namespaces; probed once, before the tests are listed. */
const canUnshare = ((): boolean => {
  try {
    execFileSync('unshare', ['--user', '--map-root-user', '--mount', '--net', '--pid', '--ipc', '--fork', 'true'], {
      stdio: 'ignore',
    });
    return true;
  } catch {
    return false;
  }
})();
const behindWall = canUnshare
  ? describe
  : (title: string, body: () => void) => describe.skip(`${title} (left out: no user namespaces here)`, body);

let root = '';
let wall: TestRenderer;
const servers: Server[] = [];
const canary = 'c4nary-of-the-controller';
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'wall-'));
  writeFileSync(join(root, 'token'), canary, { mode: 0o644 });
  wall = await startTestRenderer();
});
afterAll(async () => {
  for (const server of servers) server.close();
  await wall.close();
  rmSync(root, { recursive: true });
});

async function outputOf(script: string, program: 'helm' | 'jsonnet' = 'helm'): Promise<string> {
  const { steps } = await wall.renderer.render(scriptRequest(script, { program }), never);
  return `${Buffer.from(steps[0]?.stdout ?? []).toString('utf8')}${steps[0]?.stderr ?? ''}`;
}

async function listening(server: Server, at: { readonly path?: string; readonly port?: number; host?: string }) {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(at, resolve));
  return server.address() as AddressInfo;
}

behindWall('a program behind the wall', () => {
  it('has all namespaces, and logs them', () => {
    expect(wall.namespaces()).toBe('user, mount, network, pid, ipc');
  });

  it('sees its files and can write beside them', async () => {
    expect(await outputOf('cat a.txt; pwd; echo new > b.txt && cat b.txt')).toBe('content of a/staging/r/repo\nnew\n');
  });

  it('sees no file of the controller, by any path', async () => {
    const paths = [join(root, 'token'), '/etc/passwd', '/etc/shadow', '/proc/self/environ', '/proc/1/environ', '/root'];
    const up = `../../../../../../..${join(root, 'token')}`;
    const printed = await outputOf([...paths, up].map((path) => `cat ${path}; ls ${path}`).join('; '));
    expect(printed).not.toContain(canary);
    expect(printed.match(/No such file or directory/g)?.length).toBe(2 * (paths.length + 1));
    expect(
      (await outputOf('ls /'))
        .split('\n')
        .filter((name) => name !== '')
        .sort(),
    ).toEqual(
      [
        ...readdirSync('/').filter((name) => /^(?:bin|sbin|lib|lib32|lib64)$/.test(name)),
        'dev',
        'programs',
        'usr',
        'staging',
      ].sort(),
    );
  });

  it('sees no environment but its own', async () => {
    env['C4NARY_TOKEN'] = canary;
    try {
      const printed = await outputOf('console.log(JSON.stringify(process.env))', 'jsonnet');
      expect(printed).not.toContain(canary);
      expect(JSON.parse(printed)).toMatchObject({ HOME: '/staging/r/home', KUBECONFIG: '/dev/null' });
    } finally {
      delete env['C4NARY_TOKEN'];
    }
  });

  it('reaches no network, loopback included, and no socket of the machine', async () => {
    const tcp = await listening(
      createServer((socket) => socket.end(canary)),
      { port: 0, host: '127.0.0.1' },
    );
    const unix = join(root, 'controller.sock');
    await listening(
      createServer((socket) => socket.end(canary)),
      { path: unix },
    );
    const abstract = `\\0driftless-wall-${process.pid}`;
    await listening(
      createServer((socket) => socket.end(canary)),
      { path: `\0driftless-wall-${process.pid}` },
    );
    const targets = [
      `{port:${tcp.port},host:'127.0.0.1'}`,
      `{path:'${unix}'}`,
      `{path:'${wall.socket}'}`,
      `{path:'${abstract}'}`,
    ];
    const script = targets
      .map(
        (target) =>
          `require('net').connect(${target}).on('data',d=>console.log(String(d))).on('error',e=>console.log(e.code)).on('connect',()=>console.log('CONNECTED'));`,
      )
      .join('\n');
    const printed = await outputOf(script, 'jsonnet');
    expect(printed).not.toContain(canary);
    expect(printed).not.toContain('CONNECTED');
    expect(printed.trim().split('\n')).toHaveLength(targets.length);
    expect(await outputOf('console.log(JSON.stringify(os.networkInterfaces()))', 'jsonnet')).toBe('{}\n');
  });

  it('sees neither the files nor the processes of another request that runs', async () => {
    const first = wall.renderer.render(scriptRequest(`echo ${canary} > secret.txt; sleep 2`), never);
    await eventually(() => expect(filesBelow(wall.folder)).toContain('secret.txt'));
    const printed = await outputOf(
      // /usr is the machine's own: reading all of its folders from a cold disk takes too long.
      'find / -path /usr -prune -o -name secret.txt -print 2>/dev/null; ls /staging; kill -9 -1; cat /staging/*/repo/secret.txt',
    );
    expect(printed).not.toContain(canary);
    expect(printed).not.toMatch(/^\/.*secret\.txt$/m);
    expect((await first).steps[0]?.exitCode).toBe(0);
  });

  it('has no rights: another user, no capability, no new namespaces, and no writable folder except its own', async () => {
    const printed = await outputOf(
      'id -u; unshare --user true && echo UNSHARED; unshare --mount true && echo UNSHARED; mount --bind /usr /staging && echo MOUNTED; ' +
        'for at in / /usr /programs /programs/helm /dev /staging; do touch $at/x 2>/dev/null && echo WROTE $at; done',
    );
    expect(printed).not.toMatch(/UNSHARED|MOUNTED/);
    expect(printed).not.toMatch(/WROTE \/(?!staging)/);
    if (isRoot) expect(printed).toMatch(/^65534\n/);
  });

  it('may be a binary that administrators configured, at a generated path', async () => {
    const binary = join(root, 'kustomize-5.0');
    writeFileSync(binary, '#!/bin/sh\necho "$0 $1"; ls /programs', { mode: 0o755 });
    const other = await startTestRenderer({
      programs: (program, named) => (program === 'parse' ? undefined : [named ?? '/bin/sh']),
    });
    try {
      const request = scriptRequest('');
      const steps = [{ program: 'kustomize', binary, args: ['build'], cwd: '', env: { PATH: '/usr/bin' } } as const];
      const result = await other.renderer.render({ ...request, steps }, never);
      expect(Buffer.from(result.steps[0]?.stdout ?? []).toString('utf8')).toMatch(/^\/programs\/named build\n/);
    } finally {
      await other.close();
    }
  });

  it('is available as soon as it is installed', async () => {
    const path = join(root, 'installed-later');
    const other = await startTestRenderer({
      programs: (program) => (program === 'jsonnet' && existsSync(path) ? [path] : undefined),
    });
    try {
      expect(await other.renderer.version('jsonnet', undefined, never)).toBeUndefined();
      writeFileSync(path, '#!/bin/sh\necho v0.22.0', { mode: 0o755 });
      expect(await other.renderer.version('jsonnet', undefined, never)).toBe('0.22.0');
    } finally {
      await other.close();
    }
  });

  it('leaves no process behind', async () => {
    const marker = `6${process.pid}.25`;
    expect(await outputOf(`setsid sleep ${marker} > /dev/null 2>&1 < /dev/null & echo started`)).toBe('started\n');
    await eventually(() => expect(commandLines().filter((line) => line.includes(marker))).toEqual([]));
    expect(await outputOf('echo next')).toBe('next\n');
  });

  it('is killed at its deadline even outside its process group, and frees its cell', async () => {
    const marker = `7${process.pid}.25`;
    const request = scriptRequest(`exec setsid sleep ${marker}`, { timeoutMs: 1500 });
    await expect(wall.renderer.render(request, never)).rejects.toMatchObject({ code: 'COMMAND_TIMEOUT' });
    await eventually(() => expect(commandLines().filter((line) => line.includes(marker))).toEqual([]));
  });

  it('does not survive into the next request by leaving its group and its output', async () => {
    const stop = newAbortController();
    const spy = `exec setsid sh -c 'while :; do cat /staging/r/repo/next.txt; sleep 0.1; done > /staging/stolen' > /dev/null 2>&1 < /dev/null`;
    const running = wall.renderer.render(scriptRequest(spy), stop.signal);
    await eventually(() => expect(filesBelow(wall.folder)).toContain('stolen'));
    stop.abort(new Shutdown('enough'));
    await expect(running).rejects.toThrow('enough');
    await eventually(() => expect(commandLines().filter((line) => line.includes('/staging/stolen'))).toEqual([]));
    expect(await outputOf(`echo ${canary} > next.txt; sleep 1; ls /staging`)).not.toContain('stolen');
  });

  it('inherits no open file of the renderer', async () => {
    const script = 'for n in 3 4 5 6 7 8 9; do (eval ": >&$n") 2> /dev/null && echo "open $n"; done; echo done';
    expect(await outputOf(script)).toBe('done\n');
  });

  it('leaves no file behind for the next request', async () => {
    await outputOf(
      'echo left > ../left.txt; mkdir -p ../locked/inner; chmod 500 ../locked; echo left > /staging/left.txt',
    );
    expect(await outputOf('find /staging')).not.toContain('left');
    expect(filesBelow(wall.folder).filter((name) => name.includes('left') || name.includes('locked'))).toEqual([]);
  });
});

describe('without namespaces', () => {
  it('programs still have their own folder and environment, and the log warns', async () => {
    const open = await startTestRenderer({ levels: [[]] });
    try {
      expect(open.namespaces()).toBe('none');
      const { steps } = await open.renderer.render(scriptRequest('cat a.txt; env'), never);
      const printed = Buffer.from(steps[0]?.stdout ?? []).toString('utf8');
      expect(printed).toContain('content of a');
      expect(printed.split('\n').filter((line) => /^(?:npm|NODE|JEST|HOME=\/root)/.test(line))).toEqual([]);
    } finally {
      await open.close();
    }
  });
});

describe('a renderer that starts', () => {
  it('lets only its own user and group connect', async () => {
    await eventually(() => expect(statSync(wall.socket).mode & 0o777).toBe(0o660));
  });

  it('removes leftovers of a previous process', async () => {
    const folder = join(root, 'former');
    mkdirSync(join(folder, 'incoming', 'x', 'files'), { recursive: true });
    writeFileSync(join(folder, 'incoming', 'x', 'files', 'old.txt'), canary);
    const next = await startTestRenderer({ folder });
    try {
      expect(existsSync(join(folder, 'incoming', 'x'))).toBe(false);
    } finally {
      await next.close();
    }
  });
});

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => path.split('/').at(-1) ?? '');
}

function commandLines(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      } catch {
        return '';
      }
    });
}
