/** The highest port of TCP. */
export const PORT_MAX = 65_535;
