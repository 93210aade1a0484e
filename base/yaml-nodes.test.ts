import { describe, expect, it } from '@jest/globals';
import { parseYamlNodes } from './yaml-nodes.ts';
import type { YamlMember, YamlNode } from './yaml-nodes.ts';

/** The value with the lines of keys and items. */
function plain({ value, line }: YamlNode): unknown {
  if (value instanceof Map) {
    const members = [...(value as ReadonlyMap<string, YamlMember>)];
    return Object.fromEntries(members.map(([key, member]) => [`${key}@${member.line}`, plain(member.node)]));
  }
  if (Array.isArray(value)) return (value as readonly YamlNode[]).map((item) => [item.line, plain(item)]);
  return value ?? `nothing@${line}`;
}

describe('the nodes of a YAML document', () => {
  it('have the lines of keys and items, in block and flow style', () => {
    const text = 'a: 1\nlist:\n- x: true\n  y:\n    z: |\n      two\n      lines\n- plain\nflow: {b: [c,\n  d]}\n';
    expect(plain(parseYamlNodes(text))).toEqual({
      'a@1': '1',
      'list@2': [
        [3, { 'x@3': 'true', 'y@4': { 'z@5': 'two\nlines\n' } }],
        [8, 'plain'],
      ],
      'flow@9': {
        'b@9': [
          [9, 'c'],
          [10, 'd'],
        ],
      },
    });
  });

  it.each(['', '# only a comment\n', '---\n', '~', '&a'])('are nothing or a text in %j', (text) => {
    expect([undefined, '~', '']).toContain(parseYamlNodes(text).value);
  });

  it.each([
    ['a: 1\na: 2\n', 'line 2, column 1: duplicated mapping key'],
    ['a: [\n', 'line 2, column 1: '],
    ['a: 1\n---\nb: 2\n', 'expected a single document'],
  ])('are refused in %j', (text, message) => {
    expect(() => parseYamlNodes(text)).toThrow(message);
  });
});
