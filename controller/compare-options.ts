import type { ServerSideDiff } from '#compare';
import { annotations, asObject, csvAnnotation } from '#model';
import type { Application } from '#model';

/** Whether the differences of an application are what the API server says, and with what webhooks change (Argo CD: controller/state.go). */
export function serverSideDiffOf(app: Application, isDefault: boolean): Pick<ServerSideDiff, 'mutations'> | undefined {
  const options = csvAnnotation(asObject(app), annotations.compareOptions);
  const isWanted = (isDefault || options.includes('ServerSideDiff=true')) && !options.includes('ServerSideDiff=false');
  if (!isWanted) return undefined;
  return { mutations: options.includes('IncludeMutationWebhook=true') ? 'included' : 'left out' };
}
