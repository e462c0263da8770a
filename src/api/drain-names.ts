/** What the drain guard writes on objects, so that it finds again what is its own. */

/** Label of the budgets that we keep. */
export const GUARD_LABEL = 'fenceline.dev/drain-guard';
/** Annotation of such a budget: the node that it is for. Names of nodes may be too long for a label. */
export const GUARDED_NODE = 'fenceline.dev/node';
/** Annotation of such a budget: it is about to go, and nobody may count on it. */
export const WITHDRAWING = 'fenceline.dev/withdrawing';
/** Annotation of a replica: the DrainPolicy for which we have asked it to leave. */
export const EVICTING_FOR = 'fenceline.dev/evicting-for';
