import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { SecretValue } from '#base';
import type { ClusterCredentials } from '#model';
import { eventually, FakeClock } from '#support';
import type { CommandRequest, CommandResult, KubeClient, RunCommand } from '../index.ts';
import { clientFor, closedAfterEach, noSignal, ScriptedServer } from '../testing/index.ts';
import type { Turn } from '../testing/index.ts';

const open = closedAfterEach();

async function serve(play: (turn: Turn) => void): Promise<ScriptedServer> {
  const server = await ScriptedServer.start(play);
  open.push(server);
  return server;
}

function connect(
  server: ScriptedServer,
  credentials: ClusterCredentials,
  setup: Parameters<typeof clientFor>[1] = {},
): KubeClient {
  const client = clientFor(server, { ...setup, connection: { credentials, ...setup.connection } });
  open.push(client);
  return client;
}

const ok = (turn: Turn): void => turn.reply(200, { gitVersion: 'v1' });
const version = (client: KubeClient): Promise<string> => client.version({ signal: noSignal });
const shown = (server: ScriptedServer): unknown[] => server.turns.map((turn) => turn.headers['authorization']);

const v1 = 'client.authentication.k8s.io/v1';
const exec = {
  command: 'token-maker',
  args: ['--for', 'me'],
  env: { REGION: 'x' },
  apiVersion: v1,
  provideClusterInfo: false,
};

function printed(status: Record<string, string>): CommandResult {
  return { code: 0, stdout: JSON.stringify({ kind: 'ExecCredential', apiVersion: v1, status }), stderr: '' };
}

describe('a token file', () => {
  function tokenFile(text: string): string {
    const folder = mkdtempSync(join(tmpdir(), 'kube-token-'));
    open.push({ close: () => rmSync(folder, { recursive: true }) });
    const file = join(folder, 'token');
    writeFileSync(file, text);
    return file;
  }

  it('is read again when it changes, and stays in use while it cannot be read', async () => {
    const clock = new FakeClock();
    const file = tokenFile('one\n');
    const server = await serve(ok);
    const client = connect(server, { bearerTokenFile: file, bearerToken: new SecretValue('old') }, { clock });
    await version(client);
    writeFileSync(file, 'twotwo');
    await version(client);
    await clock.advance(1_001);
    await version(client);
    rmSync(file);
    await clock.advance(61_000);
    await version(client);
    expect(shown(server)).toEqual(['Bearer one', 'Bearer one', 'Bearer twotwo', 'Bearer twotwo']);
  });

  it('is read once a minute even if its timestamps do not change', async () => {
    const clock = new FakeClock();
    const file = tokenFile('one');
    utimesSync(file, 1000, 1000);
    const server = await serve(ok);
    const client = connect(server, { bearerTokenFile: file }, { clock });
    await version(client);
    writeFileSync(file, 'two');
    utimesSync(file, 1000, 1000);
    await clock.advance(2_000);
    await version(client);
    await clock.advance(59_000);
    await version(client);
    expect(shown(server)).toEqual(['Bearer one', 'Bearer one', 'Bearer two']);
  });

  it('is read at once when the server rejects the token; an unchanged token is not tried twice', async () => {
    const file = tokenFile('one');
    const server = await serve((turn) =>
      turn.headers['authorization'] === 'Bearer two' ? ok(turn) : turn.status(401, 'Unauthorized', 'who are you'),
    );
    const client = connect(server, { bearerTokenFile: file }, { clock: new FakeClock() });
    await expect(version(client)).rejects.toMatchObject({ code: 'KUBE_UNAUTHORIZED' });
    expect(server.turns).toHaveLength(1);
    writeFileSync(file, 'two');
    expect(await version(client)).toBe('v1');
    expect(shown(server)).toEqual(['Bearer one', 'Bearer one', 'Bearer two']);
  });

  it('is named if it is missing', async () => {
    const server = await serve(ok);
    const client = connect(server, { bearerTokenFile: '/nowhere/token' });
    await expect(version(client)).rejects.toMatchObject({
      code: 'KUBE_CREDENTIALS',
      message: expect.stringContaining('/nowhere/token') as unknown,
    });
  });
});

describe('an exec plugin', () => {
  /** Counts runs; answers on request. */
  function plugin(answer: (run: number) => CommandResult | Promise<CommandResult>): {
    runCommand: RunCommand;
    runs: CommandRequest[];
  } {
    const runs: CommandRequest[] = [];
    const runCommand: RunCommand = async (request) => {
      runs.push(request);
      return answer(runs.length);
    };
    return { runs, runCommand };
  }

  // T-JS-6
  it('runs once for fifty concurrent requests', async () => {
    const server = await serve(ok);
    let answer: (result: CommandResult) => void = () => undefined;
    const { runs, runCommand } = plugin(() => new Promise((resolve) => (answer = resolve)));
    const client = connect(server, { exec }, { runCommand });
    const calls = Array.from({ length: 50 }, () => version(client));
    await eventually(() => expect(runs).toHaveLength(1));
    answer(printed({ token: 't1' }));
    await Promise.all(calls);
    expect(runs).toHaveLength(1);
    expect(new Set(shown(server))).toEqual(new Set(['Bearer t1']));
  });

  it('gets the exec info, with the cluster only if its configuration asks for it', async () => {
    const server = await serve(ok);
    const { runs, runCommand } = plugin(() => printed({ token: 't' }));
    await version(connect(server, { exec }, { runCommand }));
    await version(
      connect(server, { exec: { ...exec, provideClusterInfo: true } }, { runCommand, connection: { caData: 'PEM' } }),
    );
    expect(runs[0]).toMatchObject({ command: 'token-maker', args: ['--for', 'me'], env: { REGION: 'x' } });
    const infos = runs.map((run) => JSON.parse(run.env['KUBERNETES_EXEC_INFO'] ?? '') as unknown);
    expect(infos).toEqual([
      { apiVersion: v1, kind: 'ExecCredential', spec: { interactive: false } },
      {
        apiVersion: v1,
        kind: 'ExecCredential',
        spec: {
          interactive: false,
          cluster: { server: server.url, 'certificate-authority-data': Buffer.from('PEM').toString('base64') },
        },
      },
    ]);
  });

  it('fails after ten seconds if it hangs, and is not run again for each request', async () => {
    const clock = new FakeClock();
    const server = await serve(ok);
    const { runs, runCommand } = plugin(() => new Promise(() => undefined));
    const client = connect(server, { exec }, { clock, runCommand });
    const call = version(client);
    call.catch(() => undefined);
    await clock.settle();
    await clock.advance(10_000);
    await expect(call).rejects.toThrow('credential plugin "token-maker" took longer than 10 s');
    await expect(version(client)).rejects.toMatchObject({ code: 'KUBE_CREDENTIALS' });
    expect(runs).toHaveLength(1);
    await clock.advance(10_000);
    void version(client).catch(() => undefined);
    await clock.settle();
    expect(runs).toHaveLength(2);
    await clock.advance(10_000);
    expect(server.turns).toHaveLength(0);
  });

  it('is run again once when the server rejects its token, however many requests were rejected', async () => {
    const server = await serve((turn) =>
      turn.headers['authorization'] === 'Bearer t2' ? ok(turn) : turn.status(401, 'Unauthorized', 'expired'),
    );
    const { runs, runCommand } = plugin((run) => printed({ token: `t${run}` }));
    const client = connect(server, { exec }, { runCommand });
    expect(await Promise.all(Array.from({ length: 20 }, () => version(client)))).toHaveLength(20);
    expect(runs).toHaveLength(2);
  });

  it('is not run for every request if the server rejects all of its tokens', async () => {
    const clock = new FakeClock();
    const server = await serve((turn) => turn.status(401, 'Unauthorized', 'never'));
    const { runs, runCommand } = plugin((run) => printed({ token: `t${run}` }));
    const client = connect(server, { exec }, { runCommand, clock });
    for (let i = 0; i < 10; i += 1) await expect(version(client)).rejects.toMatchObject({ code: 'KUBE_UNAUTHORIZED' });
    expect(runs).toHaveLength(2);
  });

  it('is renewed in the background at 80 % of the lifetime of its token, and awaited after that', async () => {
    const clock = new FakeClock();
    const server = await serve(ok);
    const { runs, runCommand } = plugin((run) =>
      printed({ token: `t${run}`, expirationTimestamp: new Date(clock.now() + 1_010_000).toISOString() }),
    );
    const client = connect(server, { exec }, { clock, runCommand });
    await version(client);
    await clock.advance(790_000);
    await version(client);
    expect(runs).toHaveLength(1);
    await clock.advance(20_000);
    await version(client);
    await eventually(() => expect(runs).toHaveLength(2));
    await version(client);
    await clock.advance(5_000_000);
    await version(client);
    expect(shown(server)).toEqual(['Bearer t1', 'Bearer t1', 'Bearer t1', 'Bearer t2', 'Bearer t3']);
  });

  it.each([
    [
      { code: 3, stdout: '', stderr: 'AUTH Bearer abcdefghijkl1 failed for https://me:pw@idp\n' },
      /failed with exit code 3 \(its output is not shown because it may contain credentials: run it by hand to read it\)$/,
    ],
    [{ code: null, stdout: '', stderr: '' }, /was killed$/],
    [{ code: 0, stdout: 'token: s3cr3t', stderr: '' }, /did not print JSON$/],
    [
      { code: 0, stdout: '{"kind":"Other","status":{"token":"s3cr3t"}}', stderr: '' },
      /did not print an ExecCredential$/,
    ],
    [
      { code: 0, stdout: `{"kind":"ExecCredential","apiVersion":"${v1}","status":{}}`, stderr: '' },
      /neither a token nor a certificate/,
    ],
  ])('reports failure %# without secrets', async (result, message) => {
    const server = await serve(ok);
    const client = connect(server, { exec }, { runCommand: () => Promise.resolve(result), clock: new FakeClock() });
    const error = (await version(client).catch((e: unknown) => e)) as Error;
    expect(error.message).toMatch(message);
    expect(`${error.message} ${String(error.cause)}`).not.toContain('s3cr3t');
  });

  // T-SEC-32
  it.each([
    ['/opt/plugins/token-maker', true],
    ['token-maker', false],
    ['/opt/plugins/../plugins/token-maker', false],
    ['/opt/plugins/token-maker ', false],
    ['/bin/sh', false],
  ])('is run only if administrators permit exactly its command: %s', async (command, permitted) => {
    const server = await serve(ok);
    const ran: string[] = [];
    const runCommand: RunCommand = (request) => {
      ran.push(request.command);
      return Promise.resolve(printed({ token: 't' }));
    };
    const credentialPlugins = ['/opt/plugins/token-maker'];
    const client = connect(server, { exec: { ...exec, command } }, { runCommand, credentialPlugins });
    const asked = version(client);
    if (permitted) expect(await asked).toBe('v1');
    else await expect(asked).rejects.toThrow(/is not among the programs that --credential-plugins permits$/);
    expect(ran).toEqual(permitted ? [command] : []);
    expect(server.turns).toHaveLength(permitted ? 1 : 0);
  });

  it('runs as a process, without a shell', async () => {
    const script = `const out = { kind: 'ExecCredential', apiVersion: '${v1}', status: { token: process.env.SUFFIX + process.argv[1] } };
      console.log(JSON.stringify(out))`;
    const server = await serve(ok);
    const real = { ...exec, command: process.execPath, args: ['-e', script, '$(echo pwned)'], env: { SUFFIX: 'x-' } };
    expect(await version(connect(server, { exec: real }))).toBe('v1');
    expect(shown(server)).toEqual(['Bearer x-$(echo pwned)']);
    const missing = connect(server, { exec: { ...exec, command: 'no-such-credential-plugin' } });
    await expect(version(missing)).rejects.toThrow(
      'credential plugin "no-such-credential-plugin" is not installed: it is not found on PATH',
    );
  });
});
