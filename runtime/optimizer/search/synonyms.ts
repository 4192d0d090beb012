import { stemOf } from './words.ts';

/**
 * Words of the field that one person says and another one writes. Each line is a group in which every word stands for
 * the others; words that have another meaning as well (`run`, `file`) are in none.
 */
const GROUPS: readonly string[] = [
  'repo repository',
  'dir directory folder',
  'pr pullrequest mergerequest mr',
  'ticket issue bug',
  'delete remove erase drop',
  'create add new make',
  'update edit modify change',
  'list show enumerate',
  'get fetch retrieve read',
  'search find query lookup',
  'db database',
  'email mail',
  'message msg dm',
  'doc document',
  'img image picture photo screenshot',
  'config configuration setting',
  'env environment',
  'k8s kubernetes kubectl',
  'auth authentication login signin',
  'user member person people',
  'event meeting appointment',
  'send post publish',
  'execute run invoke',
];

/** Stem → stems of the words that may stand for it. */
const others = new Map<string, readonly string[]>();
for (const group of GROUPS) {
  const stems = [...new Set(group.split(' ').map(stemOf))];
  for (const stem of stems) others.set(stem, [...(others.get(stem) ?? []), ...stems.filter((other) => other !== stem)]);
}

/** Stems that may stand in a tool's text for this one. */
export const synonymsOf = (stem: string): readonly string[] => others.get(stem) ?? [];
