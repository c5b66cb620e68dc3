/** The test gateway signs its notifications with it and expects it in every order. */
export const PASSWORD = "Secret_password_1";
