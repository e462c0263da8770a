/** What a person did wrong or can mend, said in one line. Anything else is a bug and shows where. */
export class UserError extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}
