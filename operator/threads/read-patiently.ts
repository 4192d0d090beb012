import type { ReadJson } from './read-json.ts';
import { TooCostlyError } from './work-thread.ts';

/**
 * Characters that one object can have: what etcd takes for 1.5 MB is a few times as long as JSON. Longer are only pages
 * of a list, which can be asked for smaller.
 */
const MOST_OF_ONE = 16 * 1024 * 1024;

/**
 * Reads with `patient` what `hasty` has found too costly, if it is an object or an event that the API server has sent:
 * nothing follows in a watch before that is read, and a new list has the same object. Reviews, which come as bytes,
 * have to be answered in time or not at all.
 */
export const readPatiently =
  (hasty: ReadJson, patient: ReadJson): ReadJson =>
  async (...reading) => {
    try {
      return await hasty(...reading);
    } catch (error) {
      const [json] = reading;
      if (!(error instanceof TooCostlyError) || typeof json !== 'string' || json.length > MOST_OF_ONE) throw error;
      return patient(...reading);
    }
  };
