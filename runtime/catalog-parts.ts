import type { BackendSet } from './backends/index.ts';
import { makeOffer, type Offer, type OfferedBackend, overlays } from './catalog/index.ts';
import type { Clock } from './clock.ts';
import { offerSettingsOf, withheldOf } from './config-slices.ts';
import type { OwnToolsByKind } from './own-tools.ts';
import type { Gate } from './gate/index.ts';
import type { LiveConfig } from './live-config.ts';
import { changeLog, type Log } from './observe/index.ts';

export interface CatalogParts {
  readonly config: LiveConfig;
  readonly backends: BackendSet;
  readonly gate: Gate;
  readonly ownTools: OwnToolsByKind;
  readonly offer: Offer;
  readonly clock: Clock;
  readonly log: Log;
}

/** What is offered: the lists of all backends, those that each user has of their own, and the tools that no backend has. */
export const offerOf = ({
  config,
  backends,
  gate,
  ownTools,
  clock,
}: Pick<CatalogParts, 'config' | 'backends' | 'gate' | 'ownTools' | 'clock'>): Offer =>
  makeOffer({
    settings: () => offerSettingsOf(config.current()),
    backends: () => seen({ config, backends }),
    settled: (timeoutMs) => backends.settled(timeoutMs),
    known: (timeoutMs) => backends.known(timeoutMs),
    lookAgain: (timeoutMs) => backends.lookAgain(timeoutMs),
    overlay: overlays({
      list: (caller) => backends.listFor(caller),
      listed: () => backends.dependents,
      now: clock.now,
    }),
    visible: gate.visible,
    policies: gate.policies,
    ownTools: () => [...(ownTools.builtin?.all() ?? []), ...(ownTools.workflow?.all() ?? [])],
  });

/** Every backend that is configured, as it is now. */
const seen = ({ config, backends }: Pick<CatalogParts, 'config' | 'backends'>): readonly OfferedBackend[] => [
  ...backends.all().map(({ name, state }) => ({ name, ...state })),
  ...withheldOf(config.current()),
];

/** Whatever changes at the backends, or of the tools that none has, is offered at once, and logged. */
export const tellOfChanges = ({ config, backends, ownTools, offer, clock, log }: Omit<CatalogParts, 'gate'>): void => {
  const tell = changeLog(log, clock.now);
  const onChange = (): void => {
    offer.rebuild();
    tell(seen({ config, backends }), offer.catalog());
  };
  backends.onChange(onChange);
  ownTools.builtin?.onChange(onChange);
  ownTools.workflow?.onChange(onChange);
};
