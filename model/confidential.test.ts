import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { outsideText } from '#base';
import { aboutSecret, scriptAboutSecret } from './index.ts';

const about = { what: 'this Secret', status: 422, reason: 'Invalid' };

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
      { what: 'this Secret', status: 500, reason: 'hunter2' },
      `the API server refuses this Secret with HTTP 500 (.data.password); ${hides}`,
    ],
    [
      'Secret "s" is invalid: data[a b]: Invalid value: "hunter2"',
      {
        ...about,
        causes: [
          { field: 'data[a b]', reason: 'FieldValueInvalid' },
          { field: 'hunter2', reason: 'hunter2' },
          { field: 'data', reason: 'FieldValueTooLong' },
        ],
      },
      `the API server refuses this Secret with HTTP 422 (Invalid; data[a b]: Invalid value; data: Too long); ${hides}`,
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

  it('never show a value, whatever the server sends', () => {
    const pieces = fc.array(
      fc.oneof(
        fc.constantFrom(
          'secrets "',
          '" not found',
          'data',
          '[',
          ']',
          ': ',
          '.',
          'admission webhook "',
          '" denied the request: ',
        ),
        fc.constantFrom('Secret.data', ' of type', 'User "', '\n', ' ', 'hunter2', 'expected string, got '),
      ),
      { maxLength: 12 },
    );
    fc.assert(
      fc.property(pieces, fc.array(fc.record({ field: pieces, reason: pieces }), { maxLength: 3 }), (text, causes) => {
        const shown = outsideText('server', text.join(''), {
          hidden: ['hunter2'],
          instead: aboutSecret({
            ...about,
            causes: causes.map(({ field, reason }) => ({ field: field.join(''), reason: reason.join('') })),
          }),
        });
        const inPath = causes.some(({ field }) => field.join('').startsWith('data'));
        if (!inPath) expect(shown).not.toContain('hunter2');
      }),
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
