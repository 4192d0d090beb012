import { isDeepStrictEqual } from 'node:util';
import { type ServerSpec, withoutPassword } from './spec.ts';

/** Keys of `spec.config` that say something else than the field of `spec` that takes precedence over them (spec: precedence). */
export const overriddenKeys = (spec: ServerSpec): readonly string[] =>
  Object.entries(IN_SPEC).flatMap(([key, saidBySpec]) => {
    const [above, below] = [saidBySpec(spec), spec.config?.[key]];
    if (above === undefined || below === undefined) return [];
    return isDeepStrictEqual(comparable(above), comparable(below)) ? [] : [key];
  });

/** What `spec` says, as `spec.config` spells it. */
const IN_SPEC: Readonly<Record<string, (spec: ServerSpec) => unknown>> = {
  groupRef: ({ groupRef }) => groupRef.name,
  incomingAuth: ({ incomingAuth }) => incomingAuth,
  outgoingAuth: ({ outgoingAuth }) => outgoingAuth,
  sessionStorage: ({ sessionStorage }) => sessionStorage && withoutPassword(sessionStorage),
};

/** A resource that leaves a field out and one that spells out its default say the same. */
const comparable = (value: unknown): unknown =>
  typeof value === 'object' && value !== null ? { source: 'discovered', db: 0, ...value } : value;
