/** Parts of api that tests of other folders use. */
export { verdictCauses } from '../verdict/causes.ts';
export { answerWith, before, noon, runningSync } from './explained-application.ts';
export { factsOf, idleController, ownershipOf } from './replica-facts.ts';
