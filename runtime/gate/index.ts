export { authenticateAnonymous } from './authenticate.ts';
export { permitAll } from './authorize.ts';
export { unlimited } from './limit.ts';
