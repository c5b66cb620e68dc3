/** The types of `uplot/dist/uPlot.esm.js` are those of its package. */
export { default } from "uplot";
