import type { Upstream } from '../upstreams/index.ts';
import type { Login } from './logins.ts';

export interface NextUpstreamDeps {
  /** In the order in which users sign in there; the first one says who the user is. */
  readonly upstreams: readonly Upstream[];
  /** Providers where users sign in once they need it, and not at each login. */
  readonly onDemand: ReadonlySet<string>;
  /** The providers that have issued tokens to the user which are still good. */
  readonly alive: (user: string) => Promise<ReadonlySet<string>>;
}

/**
 * The provider where the user has to sign in next. Undefined: there is none left. Before the first provider has told
 * who the user is, nothing that is kept of any user is asked.
 */
export const nextUpstream = async (
  { upstreams, onDemand, alive }: NextUpstreamDeps,
  login: Login,
): Promise<Upstream | undefined> => {
  const [first, ...others] = upstreams;
  const user = first && login.finished.get(first.name)?.user;
  if (!first || user === undefined) return first;
  const asked = login.purpose.kind === 'client' ? login.purpose.asked : [];
  const left = others.filter(({ name }) => !login.finished.has(name));
  const wanted = left.filter(({ name }) => asked.includes(name) || !onDemand.has(name));
  if (asked.length === 0 || wanted.length === 0) return wanted[0];
  const good = await alive(user);
  return wanted.find(({ name }) => asked.includes(name) || !good.has(name));
};
