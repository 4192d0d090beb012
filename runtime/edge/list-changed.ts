import type { ListKind } from '../listed.ts';

/** MCP has one notification for resources and their templates. */
const NOTIFICATIONS: Readonly<Record<ListKind, Buffer>> = (() => {
  const of = (what: string): Buffer => Buffer.from(`{"jsonrpc":"2.0","method":"notifications/${what}/list_changed"}`);
  const resources = of('resources');
  return { tools: of('tools'), prompts: of('prompts'), resources, resourceTemplates: resources };
})();

/** What tells a client that these lists have changed. */
export const listChangedNotifications = (kinds: readonly ListKind[]): readonly Buffer[] => [
  ...new Set(kinds.map((kind) => NOTIFICATIONS[kind])),
];
