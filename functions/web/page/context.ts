import type { Overview } from "./answers.ts";
import type { View } from "./state.ts";

/** What a page is given to show itself. */
export interface Context {
  view: View;
  overview: Overview;
  /** go shows another view; what is not named stays. */
  go(change: Partial<View>): void;
  /** link is the address of another view. */
  link(change: Partial<View>): string;
}
