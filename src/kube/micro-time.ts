/** The format of MicroTime: six digits, of which our clocks know three. The server refuses any other number of them. */
export function microTime(wallMs: number): string {
  return new Date(wallMs).toISOString().replace('Z', '000Z');
}
