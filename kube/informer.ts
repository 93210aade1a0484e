import type { Informer } from './informer-types.ts';
import type { InformerOptions } from './reflector-types.ts';

export function createInformer(options: InformerOptions): Informer {
  throw new Error(options.resource.kind);
}
