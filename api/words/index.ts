/** Answers of the read API in words, for the terminal and the dashboard. Imports types only. */
export { changeText, explainApplication, isUnderWay, levelTexts } from './application.ts';
export { counted, joined } from './explanation.ts';
export type { Explanation, ExplanationSection, Verdict } from './explanation.ts';
export { objectText } from './object-text.ts';
export { RelativeTimes, shortDuration } from './times.ts';
