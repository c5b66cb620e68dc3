/** How an installation reaches a simulated nexo terminal, whose root certificate is in `caFile`. */
export const nexoInstallation = (caFile: string) => ({
  terminalSwitches: ["--protocol", "nexo", "--instant", "--ca-file", caFile],
  config: {
    TERMINAL_PROTOCOL: "nexo",
    NEXO_POIID: "P400Plus-275039202",
    NEXO_ENVIRONMENT: "test",
    NEXO_CA_FILE: caFile,
    NEXO_KEY_IDENTIFIER: "simulator",
    NEXO_KEY_PASSPHRASE: "simulated terminal",
  },
});
