// Shows the OpenAPI document of this service.
"use strict";

SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#docs",
  deepLinking: true, // each path has an address of its own
  docExpansion: "list", // paths by subject, each closed
  defaultModelsExpandDepth: -1, // the answers show their schemas
  syntaxHighlight: false, // its colours are too light to read
  validatorUrl: null, // it would send the address of this service to another host
});
