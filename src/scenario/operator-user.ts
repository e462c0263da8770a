/** Whoever works with kubectl. */
export const administrator = 'kubernetes-admin';

/** Under which name an operator of the scenario is known to the API server. */
export function operatorUser(number: number): string {
  return `operator-${number}`;
}

export function isOperator(user: string): boolean {
  return /^operator-\d+$/.test(user);
}
