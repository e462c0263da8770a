/**
 * What identifies a threshold in stored state. The position in the list would point to another ladder as soon as
 * somebody edits the policy while a node is half way up.
 */
export function thresholdKey({
  condition,
}: {
  condition?: { type?: string | undefined; status?: string | undefined } | undefined;
}): string {
  return condition === undefined ? 'lease' : `${condition.type}=${condition.status}`;
}
