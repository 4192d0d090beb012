import { signedHeaders } from '../../runtime/outgoing/cloud-sts/sign.ts';
import { median } from '../paths.ts';
import { postOf } from '../requests.ts';

/** What a signature of a call costs, by the size of the call. */
export interface Signing {
  readonly what: string;
  /** Median in microseconds, in this process. */
  readonly micros: number;
}

const CREDENTIAL = {
  accessKeyId: 'ASIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  sessionToken: 'x'.repeat(800),
};
const SCOPE = { region: 'eu-west-1', service: 'cloud-mcp' };

/** As many signatures again come first, uncounted. */
export const measureSigning = (times: number): readonly Signing[] => [
  { what: '1 KB', micros: signing('echo', times) },
  { what: '100 KB', micros: signing('both', times) },
];

const signing = (kind: 'echo' | 'both', times: number): number => {
  const { headers, body } = postOf({ url: '', era: 'modern', kind, prefix: '' });
  const request = {
    method: 'POST',
    path: '/mcp',
    host: 'backend.example',
    headers: Object.entries(headers).flat(),
    body: Buffer.from(body),
  } as const;
  const all: number[] = [];
  for (let index = 0; index < 2 * times; index += 1) {
    // The key of a day is kept, as under load.
    const at = Date.UTC(2026, 0, 1) + index;
    const start = performance.now();
    signedHeaders(request, CREDENTIAL, { ...SCOPE, at });
    all.push((performance.now() - start) * 1_000);
  }
  return median(all.slice(times));
};
