import { type Phase, phaseOf } from '../server/status/phase.ts';
import type { StatusInput } from '../server/status/status-input.ts';

/**
 * docs/decisions.md "Phase", for kinds that know no `Degraded`: whether it answers. What is wrong beside that is in the
 * message and in the conditions. A single backend that may not be contacted leaves nothing to serve.
 */
export const frontPhase = (statusInput: StatusInput): Phase => {
  const phase = phaseOf(statusInput);
  if (phase.reason === 'NothingToServe' || phase.reason === 'ReferenceMissing') return phase;
  const withheld = withheldBackend(statusInput);
  if (withheld !== undefined) return withheld;
  if (phase.reason === 'BackendsNotRoutable') return { ...phase, phase: 'Ready', message: notReached(statusInput) };
  if (phase.phase === 'Degraded') return { ...phase, phase: 'Ready' };
  return phase.phase === 'Ready' ? { ...phase, message: servingText(statusInput) } : phase;
};

/** Something may still make the config that is missing; what is wrong in it, only its author. */
const withheldBackend = ({ newest, served }: StatusInput): Phase | undefined => {
  const [withheld] = (served ?? newest).backends.flatMap((backend) => backend.withheld ?? []);
  if (withheld === undefined) return undefined;
  const { message } = withheld;
  return withheld.reason === 'AuthConfigNotFound'
    ? { phase: 'Pending', reason: 'ReferenceMissing', message }
    : { phase: 'Failed', reason: 'NothingToServe', message };
};

const notReached = ({ backends }: StatusInput): string => {
  const [backend] = backends;
  return `serving, but the server behind it cannot be used: ${backend?.message ?? backend?.status ?? 'unknown'}`;
};

const servingText = ({ backends }: StatusInput): string =>
  backends.some(({ status }) => status === 'unauthenticated')
    ? 'serving; the server behind it wants a login'
    : 'serving';
