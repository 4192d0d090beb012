/**
 * May this call happen: authenticate the head of a request, authorize a call, limit its rate. Denies by throwing
 * VmcpError; nothing behind the gate decides about rights again. Start at `gate.ts`.
 */

export { CurrentCallers, rememberCallers } from './current-callers.ts';
export { type Gate, openGate } from './gate.ts';
