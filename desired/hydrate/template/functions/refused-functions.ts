const random = 'its result is random, so every rendering would be another commit';
const secret = 'it makes or uses secrets, which do not belong into a commit';

/** Functions of Argo CD's templates that Driftless refuses, and why. */
export const refusedFunctions: Readonly<Record<string, string>> = {
  randAlphaNum: random,
  randAlpha: random,
  randAscii: random,
  randNumeric: random,
  randBytes: random,
  randInt: random,
  shuffle: random,
  uuidv4: random,
  bcrypt: secret,
  htpasswd: secret,
  derivePassword: secret,
  genPrivateKey: secret,
  buildCustomCert: secret,
  genCA: secret,
  genCAWithKey: secret,
  genSelfSignedCert: secret,
  genSelfSignedCertWithKey: secret,
  genSignedCert: secret,
  genSignedCertWithKey: secret,
  encryptAES: secret,
  decryptAES: secret,
};
