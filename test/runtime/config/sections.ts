import { suite, test } from 'node:test';
import { check, type Verdicts } from './files.ts';

/** A fact about the file, the name of the test, and the files that show it. */
export interface Case extends Verdicts {
  readonly fact: string;
}

/** What holds in each section of the file. */
export const sections = (cases: Readonly<Record<string, readonly Case[]>>): void => {
  for (const [section, facts] of Object.entries(cases)) {
    suite(section, () => {
      for (const each of facts) test(each.fact, () => check(each));
    });
  }
};

export const oidc = (more: object) => ({
  incomingAuth: { type: 'oidc', oidc: { issuer: 'https://i.example', audience: 'a', clientId: 'c', ...more } },
});
