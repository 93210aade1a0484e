import { isDeepEqual } from './compare-values.ts';
import { isEmpty } from './list-functions.ts';
import { parseConstraint, parseVersion } from '../../../fetch/shared/semver.ts';
import type { SemanticVersion } from '../../../fetch/shared/semver.ts';
import { TemplateError } from '../template-error.ts';
import { fn } from '../template-function.ts';
import type { FunctionTable } from '../template-function.ts';
import { GoList, GoVersion, kindName, typeName } from '../template-values.ts';
import type { TemplateValue } from '../template-values.ts';

/** Defaults, types and versions. */
export const typeFunctions: FunctionTable = {
  default: fn('any,any...', ({ args: [other = null, value = null] }) => (isEmpty(value) ? other : value)),
  empty: fn('any', (call) => isEmpty(call.value(0))),
  coalesce: fn('any...', ({ args }) => args.find((value) => !isEmpty(value)) ?? null),
  all: fn('any...', ({ args }) => !args.some(isEmpty)),
  any: fn('any...', ({ args }) => args.some((value) => !isEmpty(value))),
  ternary: fn('any,any,bool', (call) => call.value(call.bool(2) ? 0 : 1)),
  typeOf: fn('any', (call) => typeName(call.value(0))),
  typeIs: fn('string,any', (call) => call.text(0) === typeName(call.value(1))),
  typeIsLike: fn('string,any', (call) => [call.text(0), `*${call.text(0)}`].includes(typeName(call.value(1)))),
  kindOf: fn('any', (call) => kindName(call.value(0))),
  kindIs: fn('string,any', (call) => call.text(0) === kindName(call.value(1)) || isArray(call.text(0), call.value(1))),
  deepEqual: fn('any,any', (call) => isDeepEqual(call.value(0), call.value(1), call.budget)),
  semver: fn('string', (call) => new GoVersion(versionOf(call.text(0)), call.text(0))),
  semverCompare: fn('string,string', (call) => {
    const admits = parseConstraint(call.text(0));
    if (admits === undefined) throw new TemplateError(`improper constraint: ${call.text(0).slice(0, 256)}`);
    return admits(versionOf(call.text(1)));
  }),
};

/** Argo CD's own name of lists in `kindIs`. */
function isArray(kind: string, value: TemplateValue): boolean {
  return kind === 'array' && value instanceof GoList && value.element === 'interface {}';
}

function versionOf(text: string): SemanticVersion {
  const version = parseVersion(text);
  if (version === undefined) throw new TemplateError('invalid semantic version');
  return version;
}
