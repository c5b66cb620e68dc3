/** One worker and one Chromium for all of them: loading both anew takes longer than many a test. */
import "./terminal-page-suite.ts";
import "./payment-page-suite.ts";
import "./sandbox-page-suite.ts";
import "./kiosk-suite.ts";
import "./kiosk-access-suite.ts";
import "./kiosk-money-suite.ts";
import "./kiosk-screens-suite.ts";
import "./pictures-suite.ts";
