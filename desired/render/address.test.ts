import { describe, expect, it } from '@jest/globals';
import { UsageError } from '#base';
import { parseRenderAddress } from './address.ts';

describe('a renderer address', () => {
  it.each([
    ['unix:/run/render.sock', { kind: 'unix', path: '/run/render.sock' }],
    ['tls:renderer.argocd.svc:8443', { kind: 'tls', host: 'renderer.argocd.svc', port: 8443 }],
    ['tls:[::]:8443', { kind: 'tls', host: '::', port: 8443 }],
  ])('parses %s', (text, address) => {
    expect(parseRenderAddress(text, '--renderer')).toEqual({ ...address, text });
  });

  it.each(['render.sock', 'unix:render.sock', 'tls:host', 'tls:host:99999', 'tcp:host:1', 'tls:::1:2'])(
    'refuses %s and describes the format',
    (text) => {
      expect(() => parseRenderAddress(text, '--renderer')).toThrow(UsageError);
    },
  );
});
