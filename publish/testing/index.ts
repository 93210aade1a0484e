/** Shared by tests of other folders. Imported by tests only. */
export { RespServer } from './resp-server.ts';
