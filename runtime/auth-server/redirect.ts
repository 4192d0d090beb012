import type { Answer } from './answer.ts';

/** The browser goes on there, with GET. */
export const redirect = (location: string): Answer => ({
  status: 303,
  headers: { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' },
  body: '',
});
