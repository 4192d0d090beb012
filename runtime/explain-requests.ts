import type { BackendSet } from './backends/index.ts';
import type { User } from './call/index.ts';
import type { LiveCatalog } from './catalog/index.ts';
import { tokenRecipientsOf, wantedBackendsOf } from './config-slices.ts';
import type { LiveConfig } from './config/index.ts';
import { answerQuestion, type ExplainDeps, explainer } from './explain/index.ts';
import { type Gate, inTime } from './gate/index.ts';
import type { Log } from './observe/index.ts';
import type { OwnToolsByKind } from './own-tools.ts';
import type { Clock } from './process/index.ts';
import { clipped } from './text.ts';

export interface ExplainParts {
  readonly config: LiveConfig;
  readonly backends: BackendSet;
  readonly gate: Gate;
  readonly liveCatalog: LiveCatalog;
  readonly ownTools: OwnToolsByKind;
  readonly log: Pick<Log, 'info'>;
  readonly signIns?: { readonly isMissing: (user: User, provider: string) => Promise<boolean> } | undefined;
}

/** Answers `POST /explain` of the management port. */
export const explainRequests = (
  { config, backends, gate, liveCatalog, ownTools, log, signIns }: ExplainParts,
  clock: Clock,
) => {
  const examine = gate.examineCaller ?? gate.authenticate;
  const backend: ExplainDeps['backend'] = (name) => {
    const served = backends.all().find((each) => each.name === name);
    const wanted = wantedBackendsOf(config.current()).find(({ settings }) => settings.name === name);
    if (!served || !wanted) return undefined;
    const { state, circuit } = served;
    return { status: state.status, circuit: circuit?.state, strategy: wanted.settings.strategy.type };
  };
  const signInMissing: ExplainDeps['signInMissing'] = async (caller, name) => {
    const [provider] = [...tokenRecipientsOf(config.current())].find(([, by]) => by.has(name)) ?? [];
    if (caller.kind !== 'user' || !signIns || provider === undefined) return undefined;
    return (await signIns.isMissing(caller, provider).catch(() => false)) ? provider : undefined;
  };
  const explain = explainer({
    now: clock.now,
    examineCaller: (head) => {
      const known = examine(head);
      return known instanceof Promise ? inTime(clock, known) : known;
    },
    gate,
    lookUp: liveCatalog.lookUp,
    liveCatalog,
    backend,
    signInMissing,
    explainSearch: ownTools.builtin?.explainSearch,
  });
  return answerQuestion(async (question) => {
    const explanation = await explain(question);
    const { kind, name } = question;
    log.info({ kind, name: clipped(name), allowed: explanation.allowed }, 'explained');
    return explanation;
  });
};
