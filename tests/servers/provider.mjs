// A provider of OpenID Connect for the tests: oidc-provider, with its own login form and consent page.
//   node provider.mjs PORT
// The password of every person is accepted. Groups stand in the name: "kim+ops+billing" is kim, of two groups.
// POST /rotate makes it sign with another key, and put the claims into the id_token.
import http from "node:http";
import { generateKeyPairSync } from "node:crypto";
import { Provider } from "oidc-provider";

const port = Number(process.argv[2]);
const issuer = `http://127.0.0.1:${port}`;

const back = ["http://127.0.0.1/sign-in/callback"];
const client = { redirect_uris: back, application_type: "native", grant_types: ["authorization_code"], response_types: ["code"] };

function key(type, options, details) {
  const { privateKey } = generateKeyPairSync(type, options);
  return { ...privateKey.export({ format: "jwk" }), use: "sig", ...details };
}

function provider(jwk, conformIdTokenClaims) {
  return new Provider(issuer, {
    clients: [
      { ...client, client_id: "sexton", client_secret: "a secret: of +the% client" },
      { ...client, client_id: "sexton-public", token_endpoint_auth_method: "none" },
      { ...client, client_id: "sexton-elliptic", token_endpoint_auth_method: "none", id_token_signed_response_alg: "ES256" },
    ],
    jwks: { keys: [jwk, elliptic] },
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["groups"] },
    conformIdTokenClaims,
    cookies: { keys: ["for the tests alone"] },
    pkce: { required: () => true },
    findAccount: (_, login) => ({
      accountId: login,
      claims: () => ({
        sub: login,
        email: `${login.split("+")[0]}@example.com`,
        email_verified: true,
        groups: login.split("+").slice(1),
      }),
    }),
  });
}

const elliptic = key("ec", { namedCurve: "P-256" }, { kid: "elliptic", alg: "ES256" });
const rsa = (kid) => key("rsa", { modulusLength: 2048 }, { kid, alg: "RS256" });
let answer = provider(rsa("first"), true).callback();

http
  .createServer((request, response) => {
    if (request.method === "POST" && request.url === "/rotate") {
      answer = provider(rsa(`key ${Date.now()}`), false).callback();
      response.end("rotated");
    } else {
      answer(request, response);
    }
  })
  .listen(port, "127.0.0.1");
