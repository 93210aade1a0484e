/** What api lends to tests of other folders. */
export { verdictCauses } from '../verdict/causes.ts';
export { answerWith, before, noon } from './explained-application.ts';
