import { isAbsolute } from 'node:path';
import { UsageError } from '#base';

/** The address of a renderer. `text` is the original form. */
export type RenderAddress =
  | { readonly kind: 'unix'; readonly path: string; readonly text: string }
  | { readonly kind: 'tls'; readonly host: string; readonly port: number; readonly text: string };

/** Parses `unix:/path` or `tls:HOST:PORT`. @throws UsageError */
export function parseRenderAddress(text: string, flag: string): RenderAddress {
  const unix = /^unix:(.+)$/.exec(text)?.[1];
  if (unix !== undefined && isAbsolute(unix)) return { kind: 'unix', path: unix, text };
  const tls = /^tls:(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(text);
  const port = Number(tls?.[3]);
  if (tls !== null && port >= 0 && port <= 65_535) return { kind: 'tls', host: tls[1] ?? tls[2] ?? '', port, text };
  throw new UsageError(`${flag}: "${text}" is not an address: give unix:/absolute/path or tls:HOST:PORT`);
}
