// ./run check serve: trains small models, starts weft serve, and runs the clients and the page against it.
// node check.mjs WEFT FOLDER CLIENT..., where the clients are openai, langchain and page.
import { spawn } from "node:child_process";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { makeModels } from "./models.mjs";

const [weft, folder, ...clients] = process.argv.slice(2);
const packages = resolve(folder, "packages");
const here = dirname(fileURLToPath(import.meta.url));
const key = "secret-" + process.pid;
const programs = {
  openai: [join(here, "openai_test.mjs"), packages],
  langchain: [join(here, "langchain_test.mjs"), packages],
  page: [join(here, "../page/page_test.mjs"), join(folder, "page")],
};

const ended = (child) =>
  new Promise((done) => child.on("exit", (code, signal) => done(code ?? signal)));

const { models, adapters } = makeModels(weft, folder);
const named = (paths) => Object.entries(paths).map(([name, path]) => `${name}=${path}`);
const options = "--host 127.0.0.1 --port 0 --slots 4 --queue 8 --grace 5 --log none".split(" ");
const server = spawn(
  weft,
  ["serve", ...named(models), "--adapter", ...named(adapters), ...options],
  { env: { ...process.env, WEFT_API_KEY: key }, stdio: ["ignore", "pipe", "inherit"] },
);
const serverEnd = ended(server);
process.on("exit", () => server.kill("SIGKILL"));
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));

const address = await Promise.race([
  serverEnd.then((code) => {
    throw new Error("weft serve ended with " + code);
  }),
  new Promise((done) => {
    let output = "";
    server.stdout.on("data", (data) => {
      output += data;
      const [found] = output.match(/http:\/\/[\d.]+:\d+/) || [];
      if (found) done(found);
    });
  }),
]);

let failed = 0;
for (const name of clients) {
  const [program, argument] = programs[name];
  const code = await ended(
    spawn(process.execPath, [program, address, argument], {
      env: { ...process.env, WEFT_API_KEY: key },
      stdio: "inherit",
      timeout: 300000,
    }),
  );
  if (code !== 0) ++failed;
}
server.kill("SIGTERM");
const code = await serverEnd;
if (code !== 0) {
  console.log("FAILED  weft serve ended with " + code);
  ++failed;
}
process.exit(failed === 0 ? 0 : 1);
