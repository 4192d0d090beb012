export { CurrentCallers, noting } from './current-callers.ts';
export { type Gate, openGate } from './gate.ts';
