import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

const read = (path: string): string => readFileSync(path, 'utf8');
const ignored = new Set(read('.gitignore').split('\n'));
const folders = readdirSync('.').filter(
  (name) => statSync(name).isDirectory() && !name.startsWith('.') && !ignored.has(`${name}/`),
);
const publicInterfaces = Object.keys(
  (JSON.parse(read('package.json')) as { imports: Record<string, unknown> }).imports,
);

/** Reads a list as text: the file is a tool's configuration, not one of our modules. */
function listIn(name: string): string[][] {
  const source =
    new RegExp(`export const ${name} = (\\[[\\s\\S]*?\\n?\\]);`).exec(read('.dependency-cruiser.mjs'))?.[1] ?? '[]';
  const value = JSON.parse(source.replaceAll("'", '"').replace(/,(\s*\])/g, '$1')) as string[] | string[][];
  return value.map((entry) => (Array.isArray(entry) ? entry : [entry]));
}

const layers = listIn('layers');
const modules = layers.flat();
const beside = listIn('beside').flat();

/** Code, scripts and pages below a folder. */
function sourceFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '.' ? entry.name : `${folder}/${entry.name}`;
    if (entry.name.startsWith('.') || ignored.has(`${entry.name}/`)) return [];
    if (entry.isDirectory()) return sourceFiles(path);
    return /[.](?:tsx?|mjs|md)$/.test(entry.name) ? [path] : [];
  });
}

/** All code, with its text. */
const code = sourceFiles('.')
  .filter((path) => !path.endsWith('.md'))
  .map((path) => [path, read(path)] as const);

describe('the architecture', () => {
  it('is described in ARCHITECTURE.md as the tool enforces it', () => {
    const page = read('ARCHITECTURE.md');
    layers.forEach((names, layer) => {
      const line = page.split('\n').find((text) => text.startsWith(` layer ${layer} `)) ?? '';
      expect([layer, names.filter((name) => !line.includes(name))]).toEqual([layer, []]);
    });
    const line = page.split('\n').find((text) => text.startsWith(' beside ')) ?? '';
    expect(beside.filter((name) => !line.includes(name))).toEqual([]);
  });

  it('has no folder that ARCHITECTURE.md does not list', () => {
    const outside = /outside\s+(.*)/.exec(read('ARCHITECTURE.md'))?.[1]?.split(/\s+/) ?? [];
    expect(folders.filter((name) => ![...modules, ...beside, ...outside].includes(name))).toEqual([]);
  });

  it('has one public interface for every module, and no others', () => {
    const wanted = [...modules.filter((name) => name !== 'cli'), 'sim', 'dashboard'].map((name) => `#${name}`);
    expect(publicInterfaces.filter((name) => name !== '#support').sort()).toEqual(wanted.sort());
  });

  it.each([...modules.filter((name) => name !== 'cli'), 'sim', 'dashboard'])(
    'has no name in %s/index.ts that no other file uses',
    (name) => {
      const index = `${name}/index.ts`;
      const lists = [...read(index).matchAll(/^export (?:type )?\{([^}]*)\}/gm)].map(([, list = '']) => list);
      const offered = lists.flatMap((list) => list.split(',').flatMap((part) => /(\w+)\s*$/.exec(part)?.[1] ?? []));
      // Tests of the module import its index by path, generators by the path from the root.
      const isUser = (path: string, text: string): boolean =>
        text.includes(`#${name}'`) ||
        text.includes(`'${index}'`) ||
        (path.startsWith(`${name}/`) && /'[.]{1,2}\/(?:[.]{2}\/)*index[.]ts'/.test(text));
      const users = code.filter(([path, text]) => path !== index && isUser(path, text));
      const used = new Set(users.flatMap(([, text]) => text.match(/[\w$]+/g) ?? []));
      expect(offered.filter((one) => !used.has(one))).toEqual([]);
    },
  );

  it.each([...modules.filter((name) => name !== 'cli'), 'sim', 'dashboard'])(
    'describes the module at the head of %s/index.ts',
    (name) => {
      expect(read(`${name}/index.ts`)).toMatch(new RegExp(`^/\\*\\*\\n \\* ${name}: \\S`));
    },
  );

  it('documents a reason for every dependency', () => {
    const { dependencies, devDependencies } = JSON.parse(read('package.json')) as Record<
      'dependencies' | 'devDependencies',
      Record<string, string>
    >;
    const page = read('docs/dependencies.md');
    const named = (name: string): boolean => page.includes(`\`${name}\``);
    expect(Object.keys(dependencies).filter((name) => !named(name))).toEqual([]);
    expect(
      Object.keys(devDependencies).filter(
        (name) => !name.startsWith('@types/') && name !== '@jest/globals' && name !== '@swc/core' && !named(name),
      ),
    ).toEqual([]);
  });

  it('resolves every citation of a decision or of the acceptance list', () => {
    const pages = { D: read('docs/decisions.md'), T: read('docs/acceptance.md') };
    const cited = sourceFiles('.').flatMap((path) =>
      [...read(path).matchAll(/\b(?:decisions? (?<d>D[0-9]+)|(?<t>T-[A-Z]+-[0-9]+))\b/g)].map(({ groups }) => ({
        path,
        id: groups?.['d'] ?? groups?.['t'] ?? '',
      })),
    );
    expect(cited.length).toBeGreaterThan(50);
    expect(cited.filter(({ id }) => !(id.startsWith('D') ? pages.D : pages.T).includes(`| ${id} |`))).toEqual([]);
  });

  it('cites no document that is not in the repository', () => {
    // The names are concatenated, so that this line does not cite them.
    const foreign = ['feasi' + 'bility', 'user-' + 'pain', 'apply-' + 'cache', 'style-' + 'anchors', 'DESIGN' + ' D'];
    const found = sourceFiles('.').flatMap((path) =>
      foreign.filter((name) => read(path).includes(name)).map((name) => `${path}: ${name}`),
    );
    expect(found).toEqual([]);
  });

  it('names only files and folders that exist', () => {
    const page = read('ARCHITECTURE.md');
    const table = page.slice(page.indexOf('## Where to change what'));
    const named = [...table.matchAll(/`((?:[\w-]+\/)+(?:[\w.-]+)?)`/g)].map(([, path = '']) => path);
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter((path) => !existsSync(path))).toEqual([]);
  });

  it('resolves every mention of a script', () => {
    const named = sourceFiles('.').flatMap((path) =>
      [...read(path).matchAll(/\bscripts\/(?:[\w-]+\/)*[\w-]+[.]mjs\b/g)].map(([script]) => ({ path, script })),
    );
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter(({ script }) => !existsSync(script))).toEqual([]);
  });

  it('documents every error code in docs/errors.md, and no others', () => {
    const thrown = [...modules, 'engine']
      .flatMap((name) => sourceFiles(name))
      .filter((path) => path.endsWith('.ts') && !/[.]test[.]ts$|\/testing\//.test(path))
      .flatMap((path) => [
        ...read(path).matchAll(/(?:super|new \w*Error)\(\s*'([A-Z][A-Z_]+)'/g),
        ...(/ErrorCode =([^;]+);/.exec(read(path))?.[1] ?? '').matchAll(/'([A-Z_]+)'/g),
      ])
      .map(([, code = '']) => code);
    const explained = [...read('docs/errors.md').matchAll(/^\| (`[A-Z_`, ]+) \|/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`([A-Z_]+)`/g)].map(([, code = '']) => code),
    );
    expect(explained).toEqual([...new Set(explained)]);
    expect([...new Set(thrown)].sort()).toEqual([...explained].sort());
  });

  it("uses the field's words, not private names", () => {
    const former = /Breath|homeless|Territory|\bSight\b|\bneglect|[pP]icture|rooms? and floors?/;
    const own = 'test/architecture.test.ts';
    expect(sourceFiles('.').filter((path) => path !== own && former.test(read(path)))).toEqual([]);
  });

  it('keeps Kubernetes and Argo CD out of base', () => {
    const words = /\b(kubectl|argo|pod|deployment|namespace|configmap)\b/i;
    const code = readdirSync('base').filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
    const talking = code.filter((name) => words.test(read(`base/${name}`).replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')));
    expect(talking).toEqual([]);
  });
});
