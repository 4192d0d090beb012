/** What a phase becomes while a child is not as planned: what has not been made yet cannot come, what serves goes on. */
export type PhasesWithProblems = Readonly<Record<string, string>>;

/** Of a VirtualMCPServer. */
export const DEGRADING: PhasesWithProblems = { Ready: 'Degraded', Pending: 'Failed' };

/** Of kinds whose `status.phase` has no word for what serves although something is wrong: conditions and the message tell. */
export const WITHOUT_DEGRADED: PhasesWithProblems = { Pending: 'Failed', Stopped: 'Failed', Downloading: 'Failed' };
