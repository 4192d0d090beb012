import { isDeepStrictEqual } from 'node:util';
import { type ServerSpec, withoutPassword } from '../../server-spec.ts';
import { SUPERSEDED_KEYS } from '../../../validate/contract.ts';

/**
 * Keys of `spec.config` that say something else than the field of `spec` that takes precedence over them
 * (docs/decisions.md "Spec before config").
 */
export const overriddenKeys = (spec: ServerSpec): readonly string[] =>
  SUPERSEDED_KEYS.flatMap((key) => {
    const [above, below] = [IN_SPEC[key](spec), spec.config?.[key]];
    if (above === undefined || below === undefined) return [];
    return isDeepStrictEqual(comparable(above), comparable(below)) ? [] : [key];
  });

/** What `spec` says, as `spec.config` spells it. */
const IN_SPEC: Readonly<Record<(typeof SUPERSEDED_KEYS)[number], (spec: ServerSpec) => unknown>> = {
  groupRef: ({ groupRef }) => groupRef.name,
  incomingAuth: ({ incomingAuth }) => incomingAuth,
  outgoingAuth: ({ outgoingAuth }) => outgoingAuth,
  sessionStorage: ({ sessionStorage }) => sessionStorage && withoutPassword(sessionStorage),
};

/** A resource that leaves a field out and one that spells out its default say the same. */
const comparable = (value: unknown): unknown =>
  typeof value === 'object' && value !== null ? { source: 'discovered', db: 0, ...value } : value;
