import { ownMember } from '#base';
import type { Json } from '#base';
import type { ObjectView, StatusCondition } from './view.ts';
import { pathParts, scalarText } from './view.ts';

/** One way to fill a placeholder: a literal, or a function that reads a value (null: absent). */
type Alternative = string | ((view: ObjectView, matched: StatusCondition | undefined) => Json);
type MessagePart = string | readonly Alternative[];

const compiledMessages = new Map<string, readonly MessagePart[]>();

/**
 * Fills in the placeholders of a message. `{status.phase}` is a field, `{kind}` the kind,
 * `{it.message}` a field of the condition that the rule matched, `{@Ready.message}` a field of the
 * first condition of a type. `{it.message|it.reason|'text'}` takes the first that is set.
 */
export function fillPlaceholders(message: string | undefined, view: ObjectView, matched?: StatusCondition): string {
  if (!message?.includes('{')) return message ?? '';
  let parts = compiledMessages.get(message);
  if (parts === undefined) {
    parts = compileMessage(message);
    compiledMessages.set(message, parts);
  }
  return parts.map((part) => (typeof part === 'string' ? part : fillOne(part, view, matched))).join('');
}

function fillOne(alternatives: readonly Alternative[], view: ObjectView, matched?: StatusCondition): string {
  for (const one of alternatives) {
    const value = typeof one === 'string' ? one : one(view, matched);
    if (value !== null && (value !== false || alternatives.length === 1)) return scalarText(value);
  }
  return '';
}

/** Only messages of the tables reach the cache, so it is bounded. */
function compileMessage(message: string): readonly MessagePart[] {
  return message
    .split(/(\{[^{}]+\})/)
    .filter((part) => part !== '')
    .map((part) => (part.startsWith('{') && part.endsWith('}') ? part.slice(1, -1).split('|').map(alternative) : part));
}

function alternative(text: string): Alternative {
  if (text.startsWith("'")) return text.slice(1, -1);
  if (text.startsWith('it.')) {
    const name = text.slice('it.'.length);
    return (_view, matched) => conditionField(matched, name);
  }
  if (text.startsWith('@')) {
    const dot = text.lastIndexOf('.');
    const [type, name] = [text.slice(1, dot), text.slice(dot + 1)];
    return (view) => conditionField(view.condition(type), name);
  }
  const parts = pathParts(text);
  return (view) => view.get(parts);
}

function conditionField(item: StatusCondition | undefined, name: string): Json {
  return item === undefined ? null : (ownMember(item.fields, name) ?? null);
}
