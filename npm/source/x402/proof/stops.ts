/** The ends of checks that did not pass. */
import type { CheckCode } from "../codes.js";
import type { Absent, Problem } from "../problems.js";
import type { Outcome } from "./verdicts.js";

/** A check ends without having passed. */
export class Stopped extends Error {
  constructor(
    readonly outcome: Outcome,
    readonly code: CheckCode,
    readonly problem: string | Problem,
    readonly field = "",
  ) {
    super(code);
  }
}

/** Return the end of a check that failed. By default, its code is the key of its text. */
export function failed(code: CheckCode, problem: string | Problem = [code] as never, field = ""): Stopped {
  return new Stopped("failed", code, problem, field);
}

/** Return the end of a check that could not be performed. */
export function unchecked(code: CheckCode, problem: string | Problem = [code] as never): Stopped {
  return new Stopped("unchecked", code, problem);
}

/** Return a value that an earlier check found. */
export function required<T>(value: T | null, name: Absent): T {
  if (value === null) throw unchecked("earlier_check_failed", ["earlier_check_failed", name]);
  return value;
}
