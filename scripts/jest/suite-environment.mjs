import { TestEnvironment } from 'jest-environment-node';

/**
 * The environment of suites (suites.mjs): lets a suite choose the group in which the next tests are
 * defined, so that hooks at the top of a test file stay within that file.
 */
export default class SuiteEnvironment extends TestEnvironment {
  #state;

  async setup() {
    await super.setup();
    this.global.suiteGroup = {
      current: () => this.#state.currentDescribeBlock,
      enter: (group) => {
        this.#state.currentDescribeBlock = group;
      },
    };
  }

  handleTestEvent(_event, state) {
    this.#state = state;
  }
}
