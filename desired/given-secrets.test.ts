import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';
import { afterAll, describe, expect, it } from '@jest/globals';
import { systemClock } from '#base';
import type { ApplicationSource } from '#model';
import { createInProcessRunner } from './command/in-process.ts';
import { Tools } from './generate/tools.ts';
import { secretsIn } from './given-secrets.ts';
import { defaultLimits } from './limits.ts';

const source = (options: Partial<ApplicationSource>): ApplicationSource => ({ repoURL: 'https://x', ...options });

describe('14.3: values of a source whose names say that they are secret', () => {
  it.each<[string, Partial<ApplicationSource>, readonly string[]]>([
    [
      'parameters of helm',
      {
        helm: {
          parameters: [
            { name: 'db.password', value: 'p,w' },
            { name: 'image.tag', value: 'v1' },
            { name: 'auth.existingSecret', value: 'name' },
            { name: 'apiKey', value: '' },
            { name: 'tokens[0].token', value: 't0ken' },
          ],
        },
      },
      ['p,w', 'p\\,w', 't0ken'],
    ],
    ['values as text', { helm: { values: 'db:\n  password: pw\n  host: h\n  list: [{token: tk}]\n' } }, ['pw', 'tk']],
    ['values that cannot be read', { helm: { values: 'db: {password: pw' } }, []],
    ['values as an object', { helm: { valuesObject: { db: { rootPassword: 123456, port: 1 } } } }, ['123456']],
    ['variables of jsonnet', { directory: { jsonnet: { tlas: [{ name: 'secret', value: 's3' }] } } }, ['s3']],
    [
      'a plugin',
      {
        plugin: {
          env: [
            { name: 'VAULT_TOKEN', value: 'vt' },
            { name: 'PATH_KEY_ID', value: 'no' },
          ],
        },
      },
      ['vt'],
    ],
    [
      'parameters of a plugin',
      {
        plugin: {
          parameters: [
            { name: 'secrets', array: ['s1', 's2'] },
            { name: 'password', map: { a: 'no' } },
          ],
        },
      },
      ['s1', 's2'],
    ],
    ['nothing', {}, []],
  ])('14.3: %s', (_name, options, found) => {
    expect(secretsIn(source(options))).toEqual(found);
  });
});

describe('14.3: T-SEC-1, T-SEC-4: a program that fails', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tools-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('14.3: is quoted without what it was given, its folder, its maps of values and its colours', async () => {
    const path = join(folder, 'helm');
    const script = [
      '#!/bin/sh',
      'printf "\\033[31mcannot overwrite table (map[password:c4nary-map]) in $PWD/x: $*\\n" >&2',
      'printf "https://u:c4nary-url@host/x has c4nary-value\\n" >&2',
      'exit 3',
    ];
    writeFileSync(path, script.join('\n'));
    chmodSync(path, 0o755);
    const work = join(folder, 'work');
    mkdirSync(join(work, 'repo'), { recursive: true });
    const tools = new Tools({
      commands: createInProcessRunner({ clock: systemClock, env }),
      lookup: () => path,
      limits: defaultLimits,
    });
    const options = { helm: { parameters: [{ name: 'adminPw.token', value: 'c4nary-value' }] } };
    const run = {
      work,
      cwd: join(work, 'repo'),
      secrets: () => secretsIn(source(options)),
      signal: new AbortController().signal,
    };
    const args = ['template', '--set=adminPw.token=c4nary-value', '--set-string=db.password=c4nary-arg'];
    const error: unknown = await tools.run({ name: 'helm', path, version: '4' }, args, run).catch((e: unknown) => e);
    expect(String(error)).toContain('`helm template --set=adminPw.token=*** --set-string=db.password=***`');
    expect(String(error)).toContain('failed exit status 3: cannot overwrite table (map[***]) in x:');
    expect(String(error)).toContain('https://***@host/x has ***');
    expect(String(error)).not.toMatch(/c4nary|\u001b/);
  });
});
