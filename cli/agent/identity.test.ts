import { describe, expect, it } from '@jest/globals';
import {
  bindingOf,
  defaultName,
  installationIdOf,
  newMark,
  readRecord,
  recordedAs,
  takeOverCommand,
} from './identity.ts';

const named = (repository: string, path: string, namespace = 'shop'): string =>
  defaultName(bindingOf(repository, path, namespace));

describe('the default name of an agent', () => {
  it.each([
    ['https://git.example.com/team/Shop.git', '.', /^shop-[0-9a-f]{8}$/],
    ['git@git.example.com:team/shop.git', 'deploy/prod_1/', /^prod-1-[0-9a-f]{8}$/],
    ['/', '.', /^folder-[0-9a-f]{8}$/],
    ['/x/äö', '.', /^folder-[0-9a-f]{8}$/],
    [`/x/${'a'.repeat(100)}`, '.', /^a{30}-[0-9a-f]{8}$/],
  ])('of %s and folder %s is readable', (source, path, expected) => {
    expect(named(source, path)).toMatch(expected);
  });

  it('differs between repositories, folders and namespaces', () => {
    const names = [
      named('https://a/x/shop', 'deploy'),
      named('https://a/y/shop', 'deploy'),
      named('https://a/x/shop', 'other/deploy'),
      named('https://a/x/shop', 'deploy', 'prod'),
      // The parts cannot run into each other.
      named('https://a/x/shop', 'deploy,shop', 'prod'),
    ];
    expect(new Set(names).size).toBe(names.length);
  });

  it('is the same for one folder, however it is written, and whatever the credentials', () => {
    const names = ['deploy', './deploy/', 'x/../deploy//'].map((path) => named('https://a/shop', path));
    expect(new Set([...names, named('https://me:canary@a/shop', 'deploy')]).size).toBe(1);
    expect(named('https://a/shop', '')).toBe(named('https://a/shop', './'));
    expect(JSON.stringify(bindingOf('https://me:canary@a/shop', '.', 'x'))).not.toContain('canary');
  });
});

describe('the mark of an agent', () => {
  const shop = bindingOf('https://a/shop', 'deploy', 'shop');

  it('differs between clusters and bindings, and names the agent', () => {
    const marks = [newMark('one', shop), newMark('two', shop), newMark('one', { ...shop, namespace: 'prod' })];
    expect(new Set(marks).size).toBe(3);
    expect(installationIdOf('shop', marks[0]!)).toBe(`driftless-agent/shop/${marks[0]!}`);
  });

  it('is read from a complete record only', () => {
    const written = recordedAs(shop, newMark('', shop));
    expect(readRecord(written)).toEqual({ binding: shop, mark: newMark('', shop) });
    for (const key of Object.keys(written)) expect(readRecord({ ...written, [key]: '' })).toBeUndefined();
    expect(readRecord(undefined)).toBeUndefined();
  });
});

it('the command that takes a name over survives a shell', () => {
  expect(takeOverCommand('shop', bindingOf("https://a/it's", 'a b', 'shop'))).toBe(
    "kubectl annotate --overwrite -n driftless-agent lease/agent-shop 'driftless.io/agent-repository=https://a/it'\\''s' 'driftless.io/agent-path=a b' driftless.io/agent-namespace=shop",
  );
});
