import type { ServerSideDiff } from '#compare';
import { annotations, asObject, csvAnnotation } from '#model';
import type { Application } from '#model';

/**
 * Whether server-side diff applies, and whether it includes webhook mutations. Undefined: it does
 * not apply (Argo CD: controller/state.go).
 */
export function serverSideDiffOf(app: Application, isDefault: boolean): Pick<ServerSideDiff, 'mutations'> | undefined {
  const options = csvAnnotation(asObject(app), annotations.compareOptions);
  const isWanted = (isDefault || options.includes('ServerSideDiff=true')) && !options.includes('ServerSideDiff=false');
  if (!isWanted) return undefined;
  return { mutations: options.includes('IncludeMutationWebhook=true') ? 'included' : 'excluded' };
}
