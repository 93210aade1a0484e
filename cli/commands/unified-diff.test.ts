import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { unifiedDiff } from './unified-diff.ts';

const numbered = (count: number): string[] => Array.from({ length: count }, (_, i) => `line ${i + 1}`);

it('shows changes with three lines around them, and joins hunks that touch', () => {
  const to = numbered(30);
  to[9] = 'ten';
  to.splice(13, 1);
  to.splice(26, 0, 'new');
  expect(unifiedDiff(numbered(30), to)).toEqual([
    ...['@@ -7,11 +7,10 @@', ' line 7', ' line 8', ' line 9', '-line 10', '+ten', ' line 11', ' line 12', ' line 13'],
    ...['-line 14', ' line 15', ' line 16', ' line 17'],
    ...['@@ -25,6 +24,7 @@', ' line 25', ' line 26', ' line 27', '+new', ' line 28', ' line 29', ' line 30'],
  ]);
  expect(unifiedDiff(['a'], ['a'])).toEqual([]);
  expect(unifiedDiff([], ['a'])).toEqual(['@@ -0,0 +1 @@', '+a']);
});

it('turns one text into the other, whatever they are', () => {
  const texts = fc.array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 12 });
  fc.assert(
    fc.property(texts, texts, (from, to) => {
      const lines = unifiedDiff(from, to).filter((line) => !line.startsWith('@@'));
      const side = (sign: string): string[] =>
        lines.filter((line) => line.startsWith(sign)).map((line) => line.slice(1));
      const [removed, added] = [side('-'), side('+')];
      // What is not shown is kept on both sides.
      expect(from.length - removed.length).toBe(to.length - added.length);
      expect([...from, ...added].sort()).toEqual([...to, ...removed].sort());
    }),
  );
});
