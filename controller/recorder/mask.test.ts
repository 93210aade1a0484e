import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { stringifyJson } from '#base';
import type { Json, JsonObject } from '#base';
import { diffObjects } from '#diff';
import { defaultSettings } from '#model';
import type { KubeObject } from '#model';
import { RecordingMask } from './mask.ts';

const mask = new RecordingMask('key of this test', ['acme.io/confidential']);
const canary = 'c4nary-value';
const base64 = (text: string): string => Buffer.from(text).toString('base64');

function secret(fields: JsonObject, metadata: JsonObject = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'key', ...metadata }, ...fields };
}

/** Every form in which the value could be read. */
function shows(value: unknown): boolean {
  const text = stringifyJson(value as Json);
  return [canary, base64(canary), encodeURIComponent(canary)].some((form) => text.includes(form));
}

describe('a mask', () => {
  const places: readonly (readonly [string, KubeObject])[] = [
    ['data', secret({ data: { a: base64(canary) } })],
    ['stringData', secret({ stringData: { a: canary } })],
    ['data that is no base64', secret({ data: { a: `!${canary}` } })],
    ['data that is no map', secret({ data: canary })],
    [
      'the last applied manifest',
      secret(
        {},
        {
          annotations: {
            'kubectl.kubernetes.io/last-applied-configuration': stringifyJson(
              secret({ stringData: { a: canary } }) as Json,
            ),
          },
        },
      ),
    ],
    ['an annotation that the settings name', secret({}, { annotations: { 'acme.io/confidential': canary } })],
    [
      'a variable of a container',
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: {},
        spec: { containers: [{ env: [{ name: 'DB_PASSWORD', value: canary }] }] },
      },
    ],
    [
      'an option of a command',
      { apiVersion: 'v1', kind: 'Pod', metadata: {}, spec: { containers: [{ args: ['--token', canary] }] } },
    ],
    [
      'the user of a URL',
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: {}, data: { url: `https://me:${canary}@host/p` } },
    ],
    [
      'a configuration file',
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: {}, data: { file: `a: 1\npassword: ${canary}\n` } },
    ],
    [
      'a member that is named like a credential',
      { apiVersion: 'a/v1', kind: 'A', metadata: {}, spec: { apiKey: { nested: [canary] } } },
    ],
  ];

  it.each(places)('hides the value in %s', (_place, object) => {
    expect(shows(object)).toBe(true);
    expect(shows(mask.object(object))).toBe(false);
  });

  it('hides local manifests, helm values and credentials of sources of an Application', () => {
    const app: JsonObject = {
      spec: {
        source: {
          repoURL: `https://me:${canary}@git/x`,
          helm: { parameters: [{ name: 'db.password', value: canary }], values: `token: ${canary}` },
        },
      },
      operation: { sync: { manifests: [stringifyJson(secret({ stringData: { a: canary } }) as Json)] } },
      status: {
        operationState: {
          operation: { sync: { manifests: [stringifyJson(secret({ data: { a: base64(canary) } }) as Json)] } },
        },
      },
    };
    expect(shows(mask.application(app))).toBe(false);
  });

  it('keeps numbers, references and empty values what they are', () => {
    const volumes = [
      { name: 'a', secret: { secretName: 'key', defaultMode: 420, items: [{ key: 'a', path: 'b' }] } },
      { name: 'b', projected: { sources: [{ serviceAccountToken: { path: 'token', expirationSeconds: 3600 } }] } },
    ];
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, spec: { volumes } } as KubeObject;
    expect(mask.object(pod)).toEqual(pod);
    const typed = mask.object({
      apiVersion: 'a/v1',
      kind: 'A',
      metadata: {},
      spec: { password: 5, secret: '', token: 0 },
    });
    expect(typed['spec']).toEqual({ password: expect.any(Number), secret: '', token: 0 });
    expect(typed['spec']).not.toMatchObject({ password: 5 });
  });

  it('leaves the tracking of a Secret readable', () => {
    const metadata = { annotations: { 'argocd.argoproj.io/tracking-id': 'demo:/Secret:apps/key' } };
    expect(mask.object(secret({}, metadata)).metadata.annotations).toEqual(metadata.annotations);
  });

  it('keeps equal values equal and different ones different, also between data and stringData', () => {
    const of = (object: KubeObject): unknown => mask.object(object)['data'];
    expect(of(secret({ data: { a: base64('x') } }))).toEqual(of(secret({ data: { a: base64('x') } })));
    expect(of(secret({ data: { a: base64('x') } }))).not.toEqual(of(secret({ data: { a: base64('y') } })));
    const text = (mask.object(secret({ stringData: { a: 'x' } }))['stringData'] as JsonObject)['a'] as string;
    expect(of(secret({ data: { a: base64('x') } }))).toEqual({ a: base64(text) });
    expect(new RecordingMask('another key').object(secret({ data: { a: base64('x') } }))).not.toEqual(
      mask.object(secret({ data: { a: base64('x') } })),
    );
  });

  it('does not change whether a live Secret differs from its manifest', () => {
    const value = fc.constantFrom('', 'a', 'b', 'long value');
    const fields = fc.record({
      data: fc.dictionary(fc.constantFrom('x', 'y'), value.map(base64)),
      stringData: fc.dictionary(fc.constantFrom('x', 'y'), value),
    });
    fc.assert(
      fc.property(fields, fields, (wanted, present) => {
        const rules = { settings: defaultSettings, ignoreDifferences: [], serverSideApply: false };
        const live = secret(
          { data: present.data },
          {
            annotations: { 'kubectl.kubernetes.io/last-applied-configuration': stringifyJson(secret(present) as Json) },
          },
        );
        const real = diffObjects(secret(wanted), live, rules);
        const masked = diffObjects(mask.object(secret(wanted)), mask.object(live), rules);
        const own = (path: string): boolean => !path.startsWith('/metadata/annotations');
        expect([masked.modified, masked.paths.filter(own)]).toEqual([real.modified, real.paths.filter(own)]);
      }),
    );
  });
});
