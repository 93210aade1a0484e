import { posix } from 'node:path';
import { joinUrl, parseUrl } from './url-text.ts';
import { fn } from '../template-function.ts';
import type { FunctionTable } from '../template-function.ts';

const base = fn('string', (call) => {
  const path = call.text(0);
  if (path === '') return '.';
  const body = withoutEnd(path);
  return body === '' ? '/' : body.slice(body.lastIndexOf('/') + 1);
});
const dir = fn('string', (call) => clean(call.text(0).slice(0, call.text(0).lastIndexOf('/') + 1)));
const cleaned = fn('string', (call) => clean(call.text(0)));
const ext = fn('string', (call) => {
  const name = call.text(0).slice(call.text(0).lastIndexOf('/') + 1);
  return name.includes('.') ? name.slice(name.lastIndexOf('.')) : '';
});
const isAbs = fn('string', (call) => call.text(0).startsWith('/'));

/** Paths and URLs. */
export const pathFunctions: FunctionTable = {
  base,
  dir,
  clean: cleaned,
  ext,
  isAbs,
  osBase: base,
  osDir: dir,
  osClean: cleaned,
  osExt: ext,
  osIsAbs: isAbs,
  urlParse: fn('string', (call) => parseUrl(call.text(0))),
  urlJoin: fn('map', (call) => joinUrl(call.map(0))),
};

function withoutEnd(path: string): string {
  let end = path.length;
  while (end > 0 && path.charAt(end - 1) === '/') end -= 1;
  return path.slice(0, end);
}

function clean(path: string): string {
  const normal = posix.normalize(path);
  return normal === '/' ? normal : withoutEnd(normal);
}
