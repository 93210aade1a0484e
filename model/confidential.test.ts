import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { outsideText } from '#base';
import { aboutSecret, scriptAboutSecret } from './index.ts';

const about = { what: 'this Secret', status: 422, reason: 'Invalid' };
const sent = { name: 's', keys: new Set(['a b', 'password']), values: ['hunter2'] };

describe('messages of API servers about Secrets', () => {
  it.each([
    'secrets "a" not found',
    'secrets "a" already exists',
    'secrets "a" is forbidden: User "system:serviceaccount:argocd:driftless" cannot create resource "secrets" in API group "" in the namespace "apps"',
    'secrets is forbidden: User "u" cannot list resource "secrets" in API group "" at the cluster scope',
    'Operation cannot be fulfilled on secrets "a": the object has been modified; please apply your changes to the latest version and try again',
    'admission webhook "vault.example.com" does not support dry run',
    'namespaces "apps" not found',
    'Unauthorized',
  ])('are shown if they contain names only: %j', (text) => {
    expect(outsideText('server', text, { instead: aboutSecret(about) })).toBe(text);
  });

  const hides = 'the message is hidden because it may contain values';
  it.each([
    [
      'Secret in version "v1" cannot be handled as a Secret: json: cannot unmarshal number into Go struct field Secret.data of type []uint8, hunter2',
      { what: 'this Secret', status: 400, reason: 'BadRequest' },
      `the API server refuses this Secret with HTTP 400 (BadRequest; data); ${hides}`,
    ],
    [
      'Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 7 hunter2',
      { what: 'this Secret', status: 400, reason: 'BadRequest' },
      `the API server refuses this Secret with HTTP 400 (BadRequest; data: illegal base64); ${hides}`,
    ],
    [
      'failed to create typed patch object (apps/s; /v1, Kind=Secret): .data.password: expected string, got &value.valueUnstructured{Value:"hunter2"}',
      { what: 'this Secret', status: 500, reason: 'hunter2', sent },
      `the API server refuses this Secret with HTTP 500 (.data.password); ${hides}`,
    ],
    [
      'Secret "s" is invalid: data[a b]: Invalid value: "hunter2"',
      { ...about, causes: [{ field: 'data[a b]', reason: 'FieldValueInvalid' }] },
      `the API server refuses this Secret with HTTP 422 (Invalid; data[…]: Invalid value); ${hides}`,
    ],
    [
      'admission webhook "hunter2" denied the request: no',
      { what: 'this Secret', status: 403, reason: 'Forbidden', sent },
      `the admission webhook … refuses this Secret with HTTP 403 (Forbidden); ${hides}`,
    ],
    [
      'admission webhook "w.example.com" denied the request: no',
      { ...about, sent, causes: [{ field: 'data[hunter2]', reason: 'FieldValueInvalid' }] },
      `the admission webhook w.example.com refuses this Secret with HTTP 422 (Invalid; data[…]: Invalid value); ${hides}`,
    ],
    [
      'namespaces "hunter2" not found',
      { what: 'this Secret', status: 404, reason: 'NotFound', sent },
      `the API server refuses this Secret with HTTP 404 (NotFound); ${hides}`,
    ],
    [
      'admission webhook "w.example.com" denied the request: {"data":{"p":"hunter2"}}',
      { what: 'this Secret', status: 403, reason: 'hunter2' },
      `the admission webhook w.example.com refuses this Secret with HTTP 403; ${hides}`,
    ],
    [
      'secrets "a" not found\nhunter2',
      { what: 'this Secret', status: 404, reason: 'NotFound' },
      `the API server refuses this Secret with HTTP 404 (NotFound); ${hides}`,
    ],
  ])('are reduced to reason and field path otherwise: %j', (text, facts, shown) => {
    expect(outsideText('server', text, { instead: aboutSecret(facts) })).toBe(shown);
  });

  it('hide the message of a script that fails on a Secret', () => {
    expect(outsideText('script', 'attempt to index "hunter2"', { instead: scriptAboutSecret })).toBe(
      'the message about this Secret is hidden because it may contain its values',
    );
  });

  it('name an invalid Secret with the fields and reasons of the causes', () => {
    const shown = (...causes: readonly (readonly [string, string])[]): string =>
      outsideText('server', 'Secret "hunter2" is invalid: hunter2', {
        instead: aboutSecret({ ...about, sent, causes: causes.map(([field, reason]) => ({ field, reason })) }),
      });
    expect(shown(['data', 'FieldValueForbidden'])).toBe('Secret "s" is invalid: data: Forbidden');
    expect(shown(['data[a b]', 'FieldValueInvalid'], ['type', 'FieldValueRequired'])).toBe(
      'Secret "s" is invalid: [data[a b]: Invalid value, type: Required value]',
    );
    expect(shown(['metadata.labels', 'FieldValueInvalid'], ['metadata.labels[hunter2]', 'FieldValueTooLong'])).toBe(
      'Secret "s" is invalid: [metadata.labels: Invalid value, metadata.labels[…]: Too long]',
    );
    expect(shown(['.data.password', 'toString'], ['database', 'constructor'], ['type.hunter2', ''])).toBe(
      'Secret "s" is invalid: [.data.password, type]',
    );
    expect(shown()).toBe(`Secret "s" is invalid; ${hides}`);
    const many = Array.from({ length: 20 }, (_, i) => ['data[password]', i === 0 ? 'FieldValueTooLong' : ''] as const);
    expect(shown(...many)).toBe('Secret "s" is invalid: [data[password]: Too long, data[password], 4 more]');
  });

  it.each(['a\u001b[31m', 'a"b', 'x'.repeat(300)])('do not repeat the name %j of a manifest', (name) => {
    const instead = aboutSecret({ ...about, sent: { ...sent, name }, causes: [{ field: 'metadata.name' }] });
    expect(outsideText('server', 'x', { instead })).toBe('Secret "…" is invalid: metadata.name');
  });

  it('never show a value, whatever a webhook or server sends', () => {
    const values = ['hunter2', 'aHVudGVyMg', 's3cr3t.pass-word', 'czNjcjN0LnBhc3Mtd29yZA'];
    const piece = fc.oneof(
      fc.constantFrom(...values),
      fc.constantFrom('secrets "', '" not found', 'data', 'stringData', '[', ']', ': ', '.', '"', ' ', '\n'),
      fc.constantFrom('admission webhook "', '" denied the request: ', 'metadata', '.labels', 'type', 'password'),
      fc.constantFrom('Go struct field Secret.data', ' of type', 'User "', ' is forbidden: ', 'expected string, got '),
      fc.constantFrom('FieldValueInvalid', 'Invalid', 'FieldValueTooLong', 'etcdserver: ', 'exceeded quota: '),
    );
    const pieces = fc.array(piece, { maxLength: 12 }).map((list) => list.join(''));
    const cause = fc.record({
      field: fc.oneof(
        pieces,
        pieces.map((text) => `data[${text}]`),
      ),
      reason: pieces,
    });
    const status = fc.constantFrom(400, 403, 404, 409, 422, 500);
    const facts = fc.record({ status, reason: fc.oneof(fc.constant('Invalid'), pieces) });
    fc.assert(
      fc.property(pieces, facts, fc.array(cause, { maxLength: 3 }), (text, { status: code, reason }, causes) => {
        const instead = aboutSecret({ what: 'this Secret', status: code, reason, causes, sent: { ...sent, values } });
        const shown = outsideText('server', text, { instead });
        for (const value of values) expect(shown).not.toContain(value);
      }),
      { numRuns: 500 },
    );
  });

  it('are read in linear time', () => {
    // A quadratic reader needs minutes for this.
    for (const piece of ['a', 'secrets "a', '.data', 'admission webhook "', ' (.data'])
      expect(outsideText('server', piece.repeat(1_000_000 / piece.length), { instead: aboutSecret(about) })).toContain(
        'hidden',
      );
  });
});
