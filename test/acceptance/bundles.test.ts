import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const folder = join(process.cwd(), 'dist', 'programs');

/** The bundle of each package that programs import on demand. */
function packagesOnDemand(): [string, string][] {
  return readdirSync(folder).flatMap((name) => {
    const text = readFileSync(join(folder, name), 'utf8');
    return [...text.matchAll(/^\/\/ on-demand:(\S+)$/gm)].map(([, id = '']): [string, string] => [id, name]);
  });
}

/** The exported functions of a module whose own names differ from those in the original package. */
function renamed(id: string, bundle: string): unknown {
  const script = `
    await import('reflect-metadata');
    const [original, bundled] = [await import(${JSON.stringify(id)}), await import(process.argv[1])];
    const functions = Object.keys(original).filter((key) => typeof original[key] === 'function');
    const wrong = functions.filter((key) => bundled[key]?.name !== original[key].name);
    const inside = [original, bundled].map(({ ReplyError }) => ReplyError && new ReplyError('x').name);
    console.log(JSON.stringify({ functions: functions.length, wrong, inside }));`;
  const address = pathToFileURL(join(folder, bundle)).href;
  const args = ['--no-warnings', '--input-type=module', '--eval', script, address];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }));
}

describe('bundled programs', () => {
  it('have the packages that are imported on demand', () => {
    const found = packagesOnDemand().map(([id]) => id);
    expect(found).toEqual(expect.arrayContaining(['@grpc/grpc-js', '@peculiar/x509', 'ioredis', 'socks']));
  });

  it.each(packagesOnDemand())('keep the exports of %s, and the names of its classes', (id, bundle) => {
    const found = renamed(id, bundle) as { wrong: string[]; inside: (string | null)[] };
    expect(found.wrong).toEqual([]);
    expect(found.inside[1]).toBe(found.inside[0]);
  });
});
