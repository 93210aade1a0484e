// Records what git, curl, Go's net/url and OpenSSH make of spellings of addresses, in
// model/address/testdata/readings.json. Needs these programs; run it again to add spellings.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { spellings } from './address-spellings.mjs';

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'readings-'));

/** A proxy that answers nothing and notes the request line: what the program dials. */
let asked = '';
const proxy = createServer((request, response) => {
  asked ||= request.url ?? '';
  response.writeHead(404).end();
});
proxy.on('connect', (request, socket) => {
  asked ||= `CONNECT ${request.url}`;
  socket.end('HTTP/1.1 404 no\r\n\r\n');
});
await new Promise((resolve) => proxy.listen(0, '127.0.0.1', resolve));
const proxyUrl = `http://127.0.0.1:${proxy.address().port}`;
const env = { PATH: process.env.PATH, HOME: folder, GIT_TERMINAL_PROMPT: '0', GIT_CONFIG_NOSYSTEM: '1', LC_ALL: 'C' };

async function dialled(program, args) {
  asked = '';
  await run(program, args, { env, timeout: 5000 }).catch(() => undefined);
  return asked;
}

/** git runs this instead of ssh. */
const noter = join(folder, 'ssh');
writeFileSync(noter, `#!/bin/sh\nprintf '%s\\n' "$@" > ${folder}/argv\nexit 1\n`, { mode: 0o755 });

async function sshOf(text) {
  writeFileSync(join(folder, 'argv'), '');
  const ssh = { ...env, GIT_SSH: noter, GIT_SSH_VARIANT: 'ssh', GIT_ALLOW_PROTOCOL: 'ssh' };
  await run('git', ['ls-remote', '--', text], { env: ssh, timeout: 5000, cwd: folder }).catch(() => undefined);
  const argv = (await run('cat', [join(folder, 'argv')])).stdout.trimEnd().split('\n');
  const at = argv.findIndex((word) => word.startsWith('git-upload-pack'));
  if (at < 1) return '';
  const port = argv.includes('-p') ? argv[argv.indexOf('-p') + 1] : '';
  const config = await run('ssh', ['-F', '/dev/null', '-G', '--', argv[at - 1]], { env }).catch(() => undefined);
  const value = (name) => new RegExp(`^${name} (.*)$`, 'm').exec(config?.stdout ?? '')?.[1] ?? '';
  const user = argv[at - 1].includes('@') ? value('user') : '';
  return `${user} ${value('hostname')} ${port} ${argv[at].slice("git-upload-pack '".length, -1)}`;
}

const goProgram = `package main
import ("bufio";"encoding/json";"fmt";"net/url";"os")
func main() {
  in := bufio.NewScanner(os.Stdin)
  for in.Scan() {
    var text string
    json.Unmarshal(in.Bytes(), &text)
    u, err := url.Parse(text)
    if err != nil || u.Opaque != "" { fmt.Println("\\"\\""); continue }
    out, _ := json.Marshal(u.Scheme + "://" + u.Host + u.EscapedPath() + func() string { if u.RawQuery != "" || u.ForceQuery { return "?" + u.RawQuery }; return "" }())
    fmt.Println(string(out))
  }
}`;
writeFileSync(join(folder, 'main.go'), goProgram);
const goInput = spellings.map((text) => JSON.stringify(text)).join('\n');
writeFileSync(join(folder, 'input'), `${goInput}\n`);
const go = await run('sh', ['-c', 'go run main.go < input'], {
  cwd: folder,
  env: { ...process.env, GO111MODULE: 'off', GOFLAGS: '' },
  maxBuffer: 1 << 24,
});
const goReadings = go.stdout
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line));

const readings = [];
for (const [i, text] of spellings.entries()) {
  const row = { text };
  if (/^https?:/i.test(text)) {
    row.go = goReadings[i];
    // TLS shows a proxy only the host: the same text without it shows the path.
    const plain = text.replace(/^https:/i, 'http:');
    row.curl = await dialled('curl', ['-s', '-o', '/dev/null', '-g', '-x', proxyUrl, '--', plain]);
    row.git = (await dialled('git', ['-c', `http.proxy=${proxyUrl}`, 'ls-remote', '--', plain])).replace(
      /\/?info\/refs[?&]service=git-upload-pack$/,
      '',
    );
  } else row.ssh = await sshOf(text);
  readings.push(row);
}
proxy.close();
rmSync(folder, { recursive: true });
const lines = readings.map((row) => `  ${JSON.stringify(row)}`);
writeFileSync(new URL('../model/address/testdata/readings.json', import.meta.url), `[\n${lines.join(',\n')}\n]\n`);
