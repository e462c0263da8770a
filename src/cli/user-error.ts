/** It was typed wrong, nobody could be asked, or nobody could be told. 1 is the answer no, or a request that was refused. */
export const NO_ANSWER = 2;

/** What a person did wrong or can mend, said in one line. Anything else is a bug and shows where. */
export class UserError extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}
