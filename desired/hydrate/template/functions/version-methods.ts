import { compareVersions } from '../../../fetch/shared/semver.ts';
import { stringerText } from '../go-print.ts';
import { TemplateError } from '../template-error.ts';
import { fn } from '../template-function.ts';
import type { FunctionCall, FunctionTable, TemplateFunction } from '../template-function.ts';
import { GoInt, GoVersion } from '../template-values.ts';

/** The methods of a *semver.Version. */
export function versionMethods(value: GoVersion): FunctionTable {
  const { major, minor, patch, pre } = value.version;
  const number = (part: number): TemplateFunction => fn('', () => new GoInt(part, 'uint64'));
  const order = (call: FunctionCall): number => compareVersions(value.version, otherOf(call).version);
  return {
    Major: number(major),
    Minor: number(minor),
    Patch: number(patch),
    Prerelease: fn('', () => pre),
    Metadata: fn('', () => /\+(.*)$/s.exec(value.original)?.[1] ?? ''),
    Original: fn('', () => value.original),
    String: fn('', () => stringerText(value)),
    Compare: fn('version', (call) => new GoInt(Math.sign(order(call)))),
    Equal: fn('version', (call) => order(call) === 0),
    LessThan: fn('version', (call) => order(call) < 0),
    LessThanEqual: fn('version', (call) => order(call) <= 0),
    GreaterThan: fn('version', (call) => order(call) > 0),
    GreaterThanEqual: fn('version', (call) => order(call) >= 0),
  };
}

function otherOf(call: FunctionCall): GoVersion {
  const other = call.value(0);
  if (other instanceof GoVersion) return other;
  throw new TemplateError('comparison with a nil version');
}
