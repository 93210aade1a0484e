import type { ConditionMatch, RuleTest } from './check.ts';

/** A test in words, for docs/health.md. */
export function describeTest(test: RuleTest): string {
  switch (test.on) {
    case 'condition':
      return describeMatch(test.match);
    case 'field':
      return `${displayPath(test.path)} is ${test.values.map((value) => (value === '' ? 'empty' : String(value))).join(' or ')}`;
    case 'pattern':
      return `${displayPath(test.path)} matches \`${test.pattern.source.replaceAll('|', '\\|')}\``;
    case 'present':
    case 'truthy':
      return `${displayPath(test.path)} is set`;
    case 'empty':
      return `no ${displayPath(test.path)}`;
    case 'same':
      return `${displayPath(test.path)} is ${displayPath(test.as)}`;
    case 'above':
      return `${displayPath(test.path)} > ${test.than}`;
    case 'stale':
      return 'the generation is not observed';
    case 'all':
      return test.of.map(describeTest).join(' and ');
    case 'any':
      return test.of.map(describeTest).join(', or ');
    case 'not':
      return test.of.on === 'present' ? `no ${displayPath(test.of.path)}` : `not (${describeTest(test.of)})`;
  }
}

export function describeMatch(match: ConditionMatch): string {
  const type = match.type === '' ? 'a condition' : choice(match.type);
  const status = match.status === '' ? 'is reported' : `is ${choice(match.status)}`;
  return `${type} ${status}${match.reason === '' ? '' : ` (${choice(match.reason)})`}`;
}

function choice(text: string): string {
  return text.replace(/^!/, 'not ').replaceAll('|', ' or ');
}

function displayPath(path: string): string {
  return path.startsWith('status.') ? path.slice('status.'.length) : path;
}
