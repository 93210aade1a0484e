import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { SecretValue, seededRandom, systemClock } from '#base';
import type { Json } from '#base';
import type { ClusterConnection, ClusterCredentials } from '#model';
import { createLogger } from '#telemetry';
import { apiResource, createKubeClient } from './index.ts';
import type { CommandResult, KubeApiError } from './index.ts';
import { collect, configMaps, noSignal, object, scriptedConnections } from './testing/index.ts';
import type { Turn } from './testing/index.ts';

const secrets = apiResource('v1', 'Secret', 'secrets', 'namespaced');
const at = { namespace: 'default', name: 'a' };
const canary = 'c4nary-hunter2';
const hides = 'the message is hidden because it may contain values';

const { open, serve, connect } = scriptedConnections({ limits: { attempts: 1 } });

async function failureOf(call: Promise<unknown>): Promise<KubeApiError> {
  return (await call.then(
    () => new Error('no error'),
    (error: unknown) => error,
  )) as KubeApiError;
}
/** Everything printable of an error, with its causes. */
const allOf = (error: unknown): string => inspect(error, { depth: 20, showHidden: true });

const status = (code: number, message: string, more: Record<string, Json> = {}): string =>
  JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code, message, ...more });

describe('responses about Secrets', () => {
  const webhook = `admission webhook "w.example.com" denied the request: {"data":{"p":"${canary}"}}`;
  it.each([
    [
      'a webhook that quotes the body',
      403,
      status(403, webhook, { reason: canary }),
      `the admission webhook w.example.com refuses this Secret with HTTP 403 (Forbidden); ${hides}`,
    ],
    [
      'a type error',
      422,
      status(422, `Secret "a" is invalid: data[p]: Invalid value: "${canary}"`, {
        reason: 'Invalid',
        details: { causes: [{ field: 'data[p]', reason: 'FieldValueInvalid', message: canary }] },
      }),
      'Secret "a" is invalid: data[p]: Invalid value',
    ],
    ['a page of a proxy', 502, `<html>${canary}</html>`, `the API server refuses this Secret with HTTP 502; ${hides}`],
  ])('%s: reason and field path only', async (_name, code, body, message) => {
    const server = await serve((turn) => turn.reply(code, body));
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { ...at }, data: { p: canary } };
    const client = connect(server);
    const writes = [
      client.create(secrets, secret, { signal: noSignal }),
      client.replace(secrets, secret, { signal: noSignal }),
      client.patch(secrets, at, { type: 'merge', body: secret }, { signal: noSignal }),
    ];
    for (const write of writes) {
      const error = await failureOf(write);
      expect(error).toMatchObject({ message, status: code });
      expect(allOf(error)).not.toContain(canary);
    }
    // It sends no keys, so none is shown.
    const deletion = await failureOf(client.delete(secrets, at, { signal: noSignal }));
    expect(deletion).toMatchObject({ message: message.replace('data[p]', 'data[…]'), status: code });
    expect(allOf(deletion)).not.toContain(canary);
    const read = await failureOf(client.get(secrets, at, { signal: noSignal }));
    expect(allOf(read)).not.toContain(canary);
  });

  // T-SEC-1
  it('show no value that a webhook puts where names, field paths and reasons belong', async () => {
    const packed = Buffer.from('Hunter').toString('base64');
    const causes = ['Hunter', packed].flatMap((value) => [
      { field: `data[${value}]`, reason: value, message: value },
      { field: `metadata.annotations[${value}]`, reason: 'FieldValueInvalid', message: value },
      { field: value, reason: 'FieldValueForbidden', message: value },
    ]);
    const bodies = ['Hunter', packed].flatMap((value) => [
      status(422, `Secret "${value}" is invalid: ${value}`, { reason: 'Invalid', details: { name: value, causes } }),
      status(422, `admission webhook "w" denied the request: ${value}`, { reason: value, details: { causes } }),
      status(404, `secrets "${value}" not found`, { reason: value, details: { name: value, causes } }),
    ]);
    const sent = [{ data: { p: packed } }, { stringData: { p: 'Hunter' } }];
    for (const body of bodies)
      for (const values of sent) {
        const server = await serve((turn) => turn.reply(422, body));
        const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { ...at }, ...values };
        const error = await failureOf(connect(server).create(secrets, secret, { signal: noSignal }));
        for (const value of ['Hunter', packed]) expect(allOf(error)).not.toContain(value);
      }
  });

  it('take the name of a Secret from the request', async () => {
    const refused = status(422, 'Secret "x" is invalid', {
      reason: 'Invalid',
      details: { name: 'x', causes: [{ field: 'data', reason: 'FieldValueForbidden' }] },
    });
    const server = await serve((turn) => turn.reply(422, refused));
    const client = connect(server);
    const inSecrets = { namespace: 'secrets', name: 'b' };
    const named = { apiVersion: 'v1', kind: 'Secret', metadata: inSecrets };
    const calls = [
      client.create(secrets, named, { signal: noSignal }),
      client.patch(secrets, inSecrets, { type: 'merge', body: {} }, { signal: noSignal }),
    ];
    for (const call of calls) expect((await failureOf(call)).message).toBe('Secret "b" is invalid: data: Forbidden');
  });

  // T-SEC-1
  it('hide values in an ERROR event of a watch, too', async () => {
    const event = { type: 'ERROR', object: JSON.parse(status(500, `cannot decode ${canary}`)) as Json };
    const server = await serve((turn) => turn.reply(200, `${JSON.stringify(event)}\n`));
    const error = await failureOf(collect(connect(server).watch(secrets, { signal: noSignal, resourceVersion: '1' })));
    expect(error.message).toContain('the API server refuses a request about Secrets with HTTP 500');
    expect(allOf(error)).not.toContain(canary);
  });

  it('of other kinds are shown as they are', async () => {
    const text = `ConfigMap "a" is invalid: data[p]: Invalid value: "${canary}"`;
    const server = await serve((turn) => turn.reply(422, status(422, text, { reason: 'Invalid' })));
    const error = await failureOf(connect(server).create(configMaps, object('a', '1'), { signal: noSignal }));
    expect(error).toMatchObject({ message: text, reason: 'Invalid' });
  });
});

describe('credentials that a server echoes', () => {
  const users: readonly (readonly [string, ClusterCredentials])[] = [
    ['a token', { bearerToken: new SecretValue(canary) }],
    ['a password', { username: 'admin', password: new SecretValue(canary) }],
  ];
  // T-SEC-4
  it.each(users)('%s in a 403 are not shown', async (_name, credentials) => {
    const echo = (turn: Turn): string => String(turn.headers['authorization']);
    const server = await serve((turn) =>
      turn.query.has('watch')
        ? turn.reply(200, `${JSON.stringify({ type: 'ERROR', object: JSON.parse(status(403, echo(turn))) as Json })}\n`)
        : turn.reply(
            403,
            turn.method === 'GET' ? status(403, `${echo(turn)} may not`, { reason: canary }) : echo(turn),
          ),
    );
    const client = connect(server, { connection: { credentials } });
    const errors = [
      await failureOf(client.get(configMaps, at, { signal: noSignal })),
      await failureOf(client.create(configMaps, object('a', '1'), { signal: noSignal })),
      await failureOf(collect(client.watch(configMaps, { signal: noSignal, resourceVersion: '1' }))),
    ];
    const packed = Buffer.from(`admin:${canary}`).toString('base64');
    for (const error of errors) {
      expect(error.message).toContain('***');
      for (const secret of [canary, packed]) expect(allOf(error)).not.toContain(secret);
    }
  });

  // T-SEC-4
  it('a watch that outlives its token still masks it', async () => {
    let failWatch = (): void => undefined;
    const server = await serve((turn) => {
      if (turn.query.has('watch')) {
        turn.begin();
        turn.event('BOOKMARK', { metadata: { resourceVersion: '1' } });
        failWatch = () => turn.event('ERROR', JSON.parse(status(403, `${canary} may not`)) as Json);
      } else turn.reply(200, object('a', '1') as unknown as Json);
    });
    const tokenOf = (token: string): ClusterCredentials => ({ bearerToken: new SecretValue(token) });
    const client = connect(server, { connection: { credentials: tokenOf(canary) } });
    const events = client.watch(configMaps, { signal: noSignal, resourceVersion: '1' })[Symbol.asyncIterator]();
    await events.next();
    client.updateCredentials({ server: server.url, insecure: false, credentials: tokenOf('next') });
    await client.get(configMaps, at, { signal: noSignal });
    failWatch();
    const error = await failureOf(events.next());
    expect(error.message).toContain('***');
    expect(allOf(error)).not.toContain(canary);
  });

  // T-SEC-4
  it('user and password in the URL are credentials, not part of any name', async () => {
    const seen: unknown[] = [];
    const server = await serve((turn) => {
      seen.push(turn.headers['authorization']);
      turn.reply(500, `go away, ${String(turn.headers['authorization'])}`);
    });
    const lines: string[] = [];
    const connection: ClusterConnection = {
      server: server.url.replace('://', `://admin:${canary}@`),
      insecure: false,
      credentials: { bearerToken: new SecretValue('another') },
    };
    const client = createKubeClient(connection, {
      clock: systemClock,
      random: seededRandom(1),
      logger: createLogger({ level: 'debug', format: 'text', destination: { write: (line) => lines.push(line) } }),
      userAgent: 'test',
      limits: { attempts: 1 },
    });
    open.push(client);
    const error = await failureOf(client.get(configMaps, at, { signal: noSignal }));
    const packed = Buffer.from(`admin:${canary}`).toString('base64');
    expect(seen).toEqual([`Basic ${packed}`]);
    expect(client.server).toBe(server.url);
    for (const text of [allOf(error), lines.join('')]) {
      expect(text).not.toContain(canary);
      expect(text).not.toContain(packed);
    }
  });
});

describe('credential plugins', () => {
  const exec = {
    command: '/home/c4nary-hunter2/bin/maker',
    args: ['--token', canary],
    env: { KEY: canary },
    apiVersion: 'client.authentication.k8s.io/v1',
    provideClusterInfo: false,
  };
  const outcomes: readonly (readonly [string, () => Promise<CommandResult>])[] = [
    ['prints its secret', () => Promise.resolve({ code: 1, stdout: canary, stderr: `AccessDenied for ${canary}` })],
    ['prints no JSON', () => Promise.resolve({ code: 0, stdout: canary, stderr: canary })],
    ['cannot be run', () => Promise.reject(Object.assign(new Error(`spawn ${canary} EACCES`), { code: 'EACCES' }))],
    ['is missing', () => Promise.reject(Object.assign(new Error(`spawn ${canary}`), { code: 'ENOENT' }))],
    ['is killed', () => Promise.resolve({ code: null, stdout: '', stderr: canary })],
  ];
  // T-SEC-1
  it.each(outcomes)('are named without folder, output, arguments and variables: one that %s', async (_name, run) => {
    const server = await serve((turn) => turn.reply(200, '{}'));
    const client = connect(server, { connection: { credentials: { exec } }, runCommand: run });
    const error = await failureOf(client.version({ signal: noSignal }));
    expect(error.message).toMatch(/^credential plugin "maker" /);
    expect(allOf(error)).not.toContain(canary);
  });

  it('show well-known error names', async () => {
    const server = await serve((turn) => turn.reply(200, '{}'));
    const run = (): Promise<CommandResult> =>
      Promise.resolve({
        code: 255,
        stdout: '',
        stderr: `An error occurred (AccessDenied) when calling with ${canary}`,
      });
    const client = connect(server, { connection: { credentials: { exec } }, runCommand: run });
    expect((await failureOf(client.version({ signal: noSignal }))).message).toBe(
      'credential plugin "maker" failed with exit code 255: AccessDenied (its output is not shown because it may contain credentials: run it by hand to read it)',
    );
  });
});
