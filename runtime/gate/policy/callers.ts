import type { Access, PolicyDecision, Target, User } from '../../call/index.ts';
import type { Visibility } from '../../catalog/index.ts';
import { lruCache } from '../../process/index.ts';
import type { ExaminedPolicies } from '../examine.ts';
import type { Claims } from './claims.ts';
import type { Principal } from './decision-request.ts';
import { ARGUMENT, CLAIM } from './environment.ts';
import type { Matter, PolicySet } from './policy-set.ts';
import type { PolicyMetrics } from './policy-metrics.ts';
import { keyOfValues, NOTHING_READ, readArguments, readClaims, type ReadValues } from './read-values.ts';
import { type PrincipalId, principalIdAmong } from './principal-id.ts';
import { type Subject, subjectOfAccess, subjectOfEntry } from './subject.ts';

/** Callers who are alike in everything that policies read, with what was decided about them. */
interface CallerClass {
  readonly who: Principal;
  readonly visibility: Visibility;
}

/** What was decided about one target; under another name it is decided anew. */
interface Decided {
  readonly name: string;
  isListed?: boolean;
  /** Of a call, where policies read no argument. */
  decision?: PolicyDecision;
  byArguments?: Map<string, PolicyDecision>;
}

/** A user, with the claims that policies see. */
export interface Known {
  readonly user: User;
  readonly claims: Claims;
}

type Matters = WeakMap<Target, { readonly name: string; readonly matter: Matter }>;

/** Classes of callers, decisions of all of them together, and those about one target for different arguments. */
const MOST_CLASSES = 1_000;
const MOST_DECISIONS = 50_000;
const MOST_ARGUMENTS = 32;
/** Longest text of arguments for which a decision is kept. */
const MAX_KEY_LENGTH = 1_024;

/**
 * Decisions of one set of policies, cached: by what policies read of the caller, by target (of one catalog snapshot),
 * and by the arguments that policies read. So a decision outlives neither the policies nor the token or the catalog.
 */
export class Decisions {
  readonly #set: PolicySet;
  readonly #metrics: PolicyMetrics;
  readonly #idOf: PrincipalId;
  readonly #classes = lruCache<CallerClass>({ count: MOST_CLASSES, bytes: Infinity });
  readonly #classOf = new WeakMap<User, { readonly claims: Claims; readonly of: CallerClass }>();
  /** What calls and list entries are about, which is equal for all callers. */
  readonly #calls: Matters = new WeakMap();
  readonly #entries: Matters = new WeakMap();
  /** All of them go at once, also those of classes that are not used any more and that a user's token keeps alive. */
  #decided = new WeakMap<CallerClass, WeakMap<Target, Decided>>();
  #classesMade = 0;
  #decisions = 0;

  constructor(set: PolicySet, metrics: PolicyMetrics, idOf: PrincipalId = principalIdAmong([])) {
    this.#set = set;
    this.#metrics = metrics;
    this.#idOf = idOf;
  }

  /** Groups of callers whose decisions are kept. */
  get callers(): number {
    return this.#classes.count();
  }

  visibility(user: User, claims: Claims): Visibility {
    return this.#class(user, claims).visibility;
  }

  decide(access: Access, target: Target, { user, claims }: Known): PolicyDecision {
    const of = this.#class(user, claims);
    // A task has no target of its own, and of a completion the arguments are not known.
    if (access.names === 'task' || access.method === 'completion/complete')
      return this.#evaluate(of, this.#set.matterOf(subjectOfAccess(access, target)), NOTHING_READ);
    const decided = this.#decidedAbout(target, access.name, of);
    if (decided.decision) {
      this.#metrics.lookedUp(true);
      return decided.decision;
    }
    const matter = this.#matter(this.#calls, target, access.name, () => subjectOfAccess(access, target));
    const { hasArguments } = matter.subject;
    const { allReads } = matter.slice;
    if (!hasArguments || (allReads.args.size === 0 && !allReads.wholeContext)) {
      this.#count();
      this.#metrics.lookedUp(false);
      return (decided.decision = this.#evaluate(of, matter, NOTHING_READ));
    }
    return this.#decideWith(readArguments(access.request, allReads), { of, matter, decided });
  }

  /** What concerns an access, and the decision about it, which is neither taken from the cache nor kept. */
  examine(access: Access, target: Target, { user, claims }: Known): Omit<ExaminedPolicies, 'isWithoutClaims'> {
    const { who } = this.#class(user, claims);
    const matter = this.#set.matterOf(subjectOfAccess(access, target));
    const { enforced, reads, allReads } = matter.slice;
    const names = [...reads.claims].map((name) => name.slice(CLAIM.length)).toSorted();
    return {
      decision: this.#set.decide(who, matter, readArguments(access.request, allReads)),
      concerned: enforced.map(({ id }) => id),
      claims: names,
      args: [...reads.args.keys()].map((name) => name.slice(ARGUMENT.length)).toSorted(),
      missingClaims: names.filter((name) => !Object.hasOwn(claims, name)),
    };
  }

  #decideWith(
    args: ReadValues,
    { of, matter, decided }: { readonly of: CallerClass; readonly matter: Matter; readonly decided: Decided },
  ): PolicyDecision {
    const key = keyOfValues(args);
    const before = decided.byArguments?.get(key);
    this.#metrics.lookedUp(before !== undefined);
    if (before) return before;
    const decision = this.#evaluate(of, matter, args);
    if (key.length > MAX_KEY_LENGTH) return decision;
    const known = (decided.byArguments ??= new Map());
    const [oldest] = known.keys();
    if (known.size >= MOST_ARGUMENTS && oldest !== undefined) known.delete(oldest);
    else this.#count();
    known.set(key, decision);
    return decision;
  }

  #evaluate({ who }: CallerClass, matter: Matter, args: ReadValues): PolicyDecision {
    return this.#metrics.evaluating('call', () => this.#set.decide(who, matter, args));
  }

  #matter(known: Matters, target: Target, name: string, subject: () => Subject): Matter {
    const before = known.get(target);
    if (before?.name === name) return before.matter;
    const matter = this.#set.matterOf(subject());
    known.set(target, { name, matter });
    return matter;
  }

  #count(): void {
    this.#decisions += 1;
    if (this.#decisions <= MOST_DECISIONS) return;
    this.#decisions = 0;
    this.#decided = new WeakMap();
  }

  #decidedAbout(target: Target, name: string, of: CallerClass): Decided {
    const known = this.#decided.get(of) ?? new WeakMap<Target, Decided>();
    const before = known.get(target);
    if (before?.name === name) return before;
    const made: Decided = { name };
    this.#decided.set(of, known.set(target, made));
    return made;
  }

  #class(user: User, claims: Claims): CallerClass {
    const before = this.#classOf.get(user);
    if (before?.claims === claims) return before.of;
    const read = readClaims(claims, this.#set.reads);
    const id = this.#set.dependsOnIdentity ? this.#idOf(user) : '';
    const key = `${id.length} ${id}${keyOfValues(read)}`;
    const of =
      this.#classes.get(key) ?? this.#newClass({ entity: { kind: 'entity', type: 'Client', id }, claims: read });
    this.#classes.set(key, of, 0);
    this.#classOf.set(user, { claims, of });
    return of;
  }

  #newClass(who: Principal): CallerClass {
    this.#classesMade += 1;
    const of: CallerClass = {
      who,
      visibility: {
        key: String(this.#classesMade),
        isVisible: ({ name, target }, kind) => {
          const decided = this.#decidedAbout(target, name, of);
          if (decided.isListed === undefined) this.#count();
          return (decided.isListed ??= this.#metrics.evaluating('list', () =>
            this.#set.mayBeAdmitted(
              who,
              this.#matter(this.#entries, target, name, () => subjectOfEntry(name, target, kind)),
            ),
          ));
        },
      },
    };
    return of;
  }
}
