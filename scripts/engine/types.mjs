import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import ts from 'typescript';
import { root } from '../root.mjs';
import { doors, packageFolder } from './doors.mjs';

const emitted = join(root, 'dist', 'declarations');

/**
 * Writes the declarations of the doors, and of what they mention, into the package. A name that
 * comes through the interface of a module is imported from the file that declares it, so that the
 * rest of the module, and the packages that it names, are left out.
 */
export function writeTypes() {
  emit();
  const entries = doors.map((name) => join(emitted, 'engine', `${name}.d.ts`));
  const program = ts.createProgram(entries, {
    module: ts.ModuleKind.NodeNext,
    allowImportingTsExtensions: true,
    noEmit: true,
    types: [],
    paths: { '#*': [join(emitted, '*', 'index.d.ts')] },
  });
  const checker = program.getTypeChecker();
  const queue = [...entries];
  for (const path of queue) {
    const { text, mentioned } = withoutDetours(program.getSourceFile(path), checker);
    const written = join(packageFolder, 'types', relative(emitted, path));
    mkdirSync(dirname(written), { recursive: true });
    writeFileSync(written, text);
    queue.push(...mentioned.filter((next) => !queue.includes(next)));
  }
  rmSync(emitted, { recursive: true });
}

/** Runs the compiler over the doors. */
function emit() {
  const config = join(root, 'dist', 'tsconfig.types.json');
  const compilerOptions = {
    declaration: true,
    emitDeclarationOnly: true,
    incremental: false,
    tsBuildInfoFile: null,
    sourceMap: false,
    rootDir: '..',
    outDir: emitted,
    paths: { '#*': ['../*/index.ts'] },
  };
  const untyped = ['../model/hashing.d.ts', '../sharding/distribution/hashing.d.ts'];
  const files = [...doors.map((name) => `../engine/${name}.ts`), ...untyped];
  writeFileSync(config, JSON.stringify({ extends: '../tsconfig.json', compilerOptions, include: [], files }));
  const tsc = join(root, 'node_modules', 'typescript-native', 'bin', 'tsc');
  const { status } = spawnSync(process.execPath, [tsc, '-p', config], { stdio: 'inherit' });
  rmSync(config);
  if (status !== 0) throw new Error('the declarations of the engine cannot be written');
}

/** The text of a declaration file whose imports name declaring files, and the paths of those. */
function withoutDetours(file, checker) {
  const mentioned = new Set();
  const edits = [];
  for (const statement of file.statements) {
    const isImport = ts.isImportDeclaration(statement);
    if (!isImport && !ts.isExportDeclaration(statement)) continue;
    const from = statement.moduleSpecifier?.text;
    if (from === undefined || !/^[.#]/.test(from)) continue;
    const clause = isImport ? statement.importClause?.namedBindings : statement.exportClause;
    if (clause === undefined || !clause.elements) throw new Error(`${file.fileName}: name what ${from} gives`);
    const isType = (isImport ? statement.importClause.phaseModifier : statement.isTypeOnly) ? ' type' : '';
    const lines = clause.elements.map((element) => {
      const path = declaringFile(element.name, checker);
      mentioned.add(path);
      const to = relative(dirname(file.fileName), path).replace(/\.d\.ts$/, '.js');
      const word = isImport ? 'import' : 'export';
      return `${word}${isType} { ${element.getText(file)} } from '${to.startsWith('.') ? to : `./${to}`}';`;
    });
    edits.push({ from: statement.getStart(file), to: statement.getEnd(), text: lines.join('\n') });
  }
  let [text, end] = ['', 0];
  for (const edit of edits) {
    text += file.text.slice(end, edit.from) + edit.text;
    end = edit.to;
  }
  text += file.text.slice(end);
  if (/import\("[.#]/.test(text)) throw new Error(`${file.fileName}: give the type that it imports in place a name`);
  return { text, mentioned: [...mentioned] };
}

function declaringFile(name, checker) {
  const symbol = checker.getAliasedSymbol(checker.getSymbolAtLocation(name));
  const path = symbol.declarations?.[0].getSourceFile().fileName;
  if (path === undefined || !existsSync(path)) throw new Error(`${name.getText()} is declared nowhere`);
  return path;
}
