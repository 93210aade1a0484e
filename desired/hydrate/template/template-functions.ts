import { builtinFunctions } from './functions/builtin-functions.ts';
import { caseFunctions } from './functions/case-functions.ts';
import { dateFunctions, timeMethods } from './functions/date-functions.ts';
import { encodingFunctions } from './functions/encoding-functions.ts';
import { listFunctions } from './functions/list-functions.ts';
import { mapFunctions } from './functions/map-functions.ts';
import { numberFunctions } from './functions/number-functions.ts';
import { pathFunctions } from './functions/path-functions.ts';
import { patternFunctions } from './functions/pattern-functions.ts';
import { refusedFunctions } from './functions/refused-functions.ts';
import { textFunctions } from './functions/text-functions.ts';
import { typeFunctions } from './functions/type-functions.ts';
import { versionMethods } from './functions/version-methods.ts';
import { TemplateError } from './template-error.ts';
import type { FunctionTable, TemplateFunction } from './template-function.ts';
import { GoTime, GoVersion } from './template-values.ts';
import type { TemplateValue } from './template-values.ts';

/** The functions of Argo CD's hydrator. Where Sprig and Go share a name, Sprig's function wins. */
const templateFunctions: FunctionTable = {
  ...builtinFunctions,
  ...textFunctions,
  ...caseFunctions,
  ...listFunctions,
  ...mapFunctions,
  ...numberFunctions,
  ...dateFunctions,
  ...encodingFunctions,
  ...pathFunctions,
  ...patternFunctions,
  ...typeFunctions,
};

/** The names of all functions, for tests. */
export const functionNames: readonly string[] = Object.keys(templateFunctions);

/** Reports whether the function exists. @throws TemplateError for one that is refused. */
export function isFunctionName(name: string): boolean {
  if (Object.hasOwn(refusedFunctions, name))
    throw new TemplateError(`the function ${JSON.stringify(name)} is not supported: ${refusedFunctions[name] ?? ''}`);
  return name === 'and' || name === 'or' || Object.hasOwn(templateFunctions, name);
}

/** @throws TemplateError */
export function functionOf(name: string): TemplateFunction {
  const found = Object.hasOwn(templateFunctions, name) ? templateFunctions[name] : undefined;
  if (found === undefined) throw new TemplateError(`function ${JSON.stringify(name)} not defined`);
  return found;
}

/** A method of the value; undefined if its type has none of this name. */
export function methodOf(value: TemplateValue, name: string): TemplateFunction | undefined {
  const methods =
    value instanceof GoTime ? timeMethods(value) : value instanceof GoVersion ? versionMethods(value) : {};
  return Object.hasOwn(methods, name) ? methods[name] : undefined;
}
