/** Keys of `spec.config` that say nothing where `spec` has a field of the same name (spec: precedence). */
const KEYS = ['groupRef', 'incomingAuth', 'outgoingAuth', 'sessionStorage'] as const;

/** The spec of an object without what a field beside it takes the place of: that is told of by `ConfigOverridden`, and judged by nobody. */
export const withoutSuperseded = <T extends object>(spec: T): T => {
  const { config, ...above } = spec as T & { readonly config?: unknown };
  if (typeof config !== 'object' || config === null) return spec;
  const left = Object.entries(config).filter(
    ([key]) =>
      !((KEYS as readonly string[]).includes(key) && (above as Readonly<Record<string, unknown>>)[key] !== undefined),
  );
  return { ...spec, config: Object.fromEntries(left) };
};
