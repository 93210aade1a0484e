import { FAILSAFE_SCHEMA, load } from 'js-yaml';
import { YamlSyntaxError } from './yaml.ts';

/** A value of a YAML document with its line, counted from 1. Scalars are texts. */
export interface YamlNode {
  readonly line: number;
  readonly value: string | undefined | readonly YamlNode[] | ReadonlyMap<string, YamlMember>;
}

export interface YamlMember {
  /** Line of the key. */
  readonly line: number;
  readonly node: YamlNode;
}

interface OpenNode {
  readonly line: number;
  readonly children: YamlNode[];
}

/** The parts of js-yaml's state that its listener shows. */
interface ParserState {
  readonly line: number;
  readonly kind: string | null;
  readonly result: unknown;
}

/**
 * Parses one small document of settings with the lines of its values, for error messages. Undefined
 * values are empty ones, and aliases. @throws YamlSyntaxError
 */
export function parseYamlNodes(text: string): YamlNode {
  const root: OpenNode = { line: 1, children: [] };
  const open: OpenNode[] = [root];
  const listener = (event: 'open' | 'close', state: ParserState): void => {
    if (event === 'open') open.push({ line: state.line + 1, children: [] });
    else {
      const closed = open.pop() ?? root;
      open.at(-1)?.children.push({ line: closed.line, value: valueOf(state, closed.children) });
    }
  };
  try {
    load(text, { schema: FAILSAFE_SCHEMA, listener });
  } catch (error) {
    const { reason, mark } = error as { readonly reason?: string; readonly mark?: { line: number; column: number } };
    const place = mark === undefined ? undefined : { line: mark.line + 1, column: mark.column + 1 };
    throw new YamlSyntaxError(reason ?? 'no YAML', place, error);
  }
  return root.children[0] ?? { line: 1, value: undefined };
}

function valueOf({ kind, result }: ParserState, children: readonly YamlNode[]): YamlNode['value'] {
  if (kind === 'sequence') return children;
  if (kind === 'scalar') return typeof result === 'string' ? result : undefined;
  if (kind !== 'mapping') return undefined;
  const members = new Map<string, YamlMember>();
  for (let i = 0; i + 1 < children.length; i += 2) {
    const [key, node] = [children[i], children[i + 1]];
    if (key !== undefined && node !== undefined && typeof key.value === 'string')
      members.set(key.value, { line: key.line, node });
  }
  return members;
}
