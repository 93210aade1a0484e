import { readdirSync, readFileSync, statSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

const read = (path: string): string => readFileSync(path, 'utf8');
const ignored = new Set(read('.gitignore').split('\n'));
const folders = readdirSync('.').filter(
  (name) => statSync(name).isDirectory() && !name.startsWith('.') && !ignored.has(`${name}/`),
);
const doors = Object.keys((JSON.parse(read('package.json')) as { imports: Record<string, unknown> }).imports);

/** The list of floors, read as text: the file is the tool's configuration, not a module of ours. */
function listIn(name: string): string[][] {
  const source =
    new RegExp(`export const ${name} = (\\[[\\s\\S]*?\\n?\\]);`).exec(read('.dependency-cruiser.mjs'))?.[1] ?? '[]';
  const value = JSON.parse(source.replaceAll("'", '"').replace(/,(\s*\])/g, '$1')) as string[] | string[][];
  return value.map((entry) => (Array.isArray(entry) ? entry : [entry]));
}

const floors = listIn('floors');
const rooms = floors.flat();
const outbuildings = listIn('outbuildings').flat();

describe('the house', () => {
  it('is drawn in ARCHITECTURE.md as the tool enforces it', () => {
    const page = read('ARCHITECTURE.md');
    floors.forEach((names, floor) => {
      const line = page.split('\n').find((text) => text.startsWith(` floor ${floor} `)) ?? '';
      expect([floor, names.filter((name) => !line.includes(name))]).toEqual([floor, []]);
    });
    const beside = page.split('\n').find((text) => text.startsWith(' beside ')) ?? '';
    expect(outbuildings.filter((name) => !beside.includes(name))).toEqual([]);
  });

  it('has no room that is not on the plan', () => {
    const outside = /outside\s+(.*)/.exec(read('ARCHITECTURE.md'))?.[1]?.split(/\s+/) ?? [];
    expect(folders.filter((name) => ![...rooms, ...outbuildings, ...outside].includes(name))).toEqual([]);
  });

  it('has a door for every room, and no other', () => {
    const wanted = [...rooms.filter((name) => name !== 'cli'), 'sim', 'dashboard'].map((name) => `#${name}`);
    expect(doors.filter((door) => door !== '#support').sort()).toEqual(wanted.sort());
  });

  it.each([...rooms.filter((name) => name !== 'cli'), 'sim', 'dashboard'])(
    'says at the door of %s what is inside',
    (name) => {
      expect(read(`${name}/index.ts`)).toMatch(new RegExp(`^/\\*\\*\\n \\* ${name}: \\S`));
    },
  );

  it('gives every dependency its reason', () => {
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

  it('keeps Kubernetes and Argo CD out of base', () => {
    const words = /\b(kubectl|argo|pod|deployment|namespace|configmap)\b/i;
    const code = readdirSync('base').filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
    const talking = code.filter((name) => words.test(read(`base/${name}`).replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')));
    expect(talking).toEqual([]);
  });
});
