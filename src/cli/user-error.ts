/** What a person did wrong or can mend, said in one line. Anything else is a bug and shows where. */
export class UserError extends Error {}
