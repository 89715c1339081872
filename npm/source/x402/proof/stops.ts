/** The ends of checks that did not pass. */
import type { CheckCode } from "../codes.js";
import type { Outcome } from "./verdicts.js";

/** A check ends without having passed. */
export class Stopped extends Error {
  constructor(
    readonly outcome: Outcome,
    readonly code: CheckCode,
    problem: string,
    readonly field = "",
  ) {
    super(problem);
  }
}

/** Return the end of a check that failed. */
export function failed(code: CheckCode, problem: string, field = ""): Stopped {
  return new Stopped("failed", code, problem, field);
}

/** Return the end of a check that could not be performed. */
export function unchecked(problem: string, code: CheckCode = "cannot_check"): Stopped {
  return new Stopped("unchecked", code, problem);
}

/** Return a value that an earlier check found. */
export function required<T>(value: T | null, problem: string): T {
  if (value === null) throw unchecked(problem, "earlier_check_failed");
  return value;
}
