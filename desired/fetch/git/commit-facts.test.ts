import { describe, expect, it } from '@jest/globals';
import { parseCommit } from './commit-facts.ts';

describe('the facts of a commit', () => {
  it('are its author, its time and its subject', () => {
    expect(parseCommit('Ada <ada@example.com>\u00001700000000\u0000raise the limit\n')).toEqual({
      author: 'Ada <ada@example.com>',
      at: '2023-11-14T22:13:20Z',
      subject: 'raise the limit',
    });
  });

  it.each([
    ['an unreadable time', 'Ada\u0000soon\u0000subject'],
    ['a missing field', 'Ada\u00001700000000'],
    ['nothing', ''],
  ])('are undefined with %s', (_case, output) => {
    expect(parseCommit(output)).toBeUndefined();
  });

  it('are bounded, on one line, and without control characters', () => {
    const facts = parseCommit(
      `${'a'.repeat(5000)}\u0000${'9'.repeat(12)}\u0000\u001b[31mred\u202e ${'s'.repeat(5000)}`,
    );
    expect(facts?.author).toHaveLength(200);
    expect(facts?.subject).toHaveLength(500);
    expect(facts?.subject).toMatch(/^red s+$/);
    expect(facts?.at).toBe('9999-12-31T23:59:59Z');
  });

  it('do not repeat a credential that a message contains', () => {
    expect(parseCommit('Ada\u00001700000000\u0000use https://ada:hunter2@git.example/x')?.subject).not.toContain(
      'hunter2',
    );
  });
});
