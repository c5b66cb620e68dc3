/** One worker and one Chromium for all of them: loading both anew takes longer than many a test. */
import "./console-suite.ts";
import "./console-views-suite.ts";
import "./console-waiting-suite.ts";
import "./console-payments-suite.ts";
import "./console-attacks-suite.ts";
