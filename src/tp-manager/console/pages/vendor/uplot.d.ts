/** `uplot/dist/uPlot.esm.js` as the package describes it. */
export { default } from "uplot";
