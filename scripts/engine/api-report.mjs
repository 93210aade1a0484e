// Writes docs/engine/api.md: every name that the doors of the engine export, with its type, two
// levels deep. A change of the report is a change of the public interface, which docs/releases.md
// maps to a version. `--check` fails if the file is not up to date.
import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import ts from 'typescript';
import { root } from '../root.mjs';
import { doors, packageName } from './doors.mjs';

const path = join(root, 'docs', 'engine', 'api.md');
const read = ts.getParsedCommandLineOfConfigFile(
  join(root, 'tsconfig.json'),
  {},
  { ...ts.sys, onUnRecoverableConfigFileDiagnostic: fail },
);
const files = doors.map((door) => join(root, 'engine', `${door}.ts`));
const program = ts.createProgram(files, {
  ...read.options,
  noEmit: true,
  incremental: false,
  tsBuildInfoFile: undefined,
});
const checker = program.getTypeChecker();
const flags = ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.WriteArrowStyleSignature;

const text = `# The public interface of the engine

Written by scripts/engine/api-report.mjs: every name that a door exports, with its type.

${doors.map((door, i) => `## ${packageName}/${door}\n\n\`\`\`ts\n${reportOf(files[i]).join('\n')}\n\`\`\`\n`).join('\n')}`;
if (!process.argv.includes('--check')) writeFileSync(path, text);
else if (readFileSync(path, 'utf8') !== text)
  fail(`${relative(root, path)} is not up to date: run node scripts/engine/api-report.mjs, and look at what changed`);

function reportOf(file) {
  const module = checker.getSymbolAtLocation(program.getSourceFile(file));
  return checker
    .getExportsOfModule(module)
    .map((symbol) => linesOf(symbol))
    .sort((a, b) => (a < b ? -1 : 1));
}

function linesOf(symbol) {
  const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  const [declaration] = target.declarations;
  if (target.flags & ts.SymbolFlags.Value) {
    const type = checker.getTypeOfSymbolAtLocation(target, declaration);
    const word =
      target.flags & ts.SymbolFlags.Class ? 'class' : target.flags & ts.SymbolFlags.Function ? 'function' : 'const';
    return `${word} ${symbol.name}: ${checker.typeToString(type, undefined, flags)}`;
  }
  const type = checker.getDeclaredTypeOfSymbol(target);
  if (target.flags & ts.SymbolFlags.TypeAlias)
    return `type ${symbol.name} = ${checker.typeToString(type, undefined, flags | ts.TypeFormatFlags.InTypeAlias)}`;
  const members = checker.getPropertiesOfType(type).map((member) => {
    const memberType = checker.getTypeOfSymbolAtLocation(member, declaration);
    return `  ${member.name}${member.flags & ts.SymbolFlags.Optional ? '?' : ''}: ${checker.typeToString(memberType, undefined, flags)}`;
  });
  return [`interface ${symbol.name}`, ...members].join('\n');
}

function fail(problem) {
  process.stderr.write(
    `api-report: ${typeof problem === 'string' ? problem : ts.flattenDiagnosticMessageText(problem.messageText, '\n')}\n`,
  );
  process.exit(1);
}
