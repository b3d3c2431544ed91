// Compares logits and token ids of llama.cpp with those of Weft.
//
//   node compare.mjs FOLDER [PACKAGES]
//
// FOLDER contains the files of weft_gguf_models. PACKAGES is the folder with node_modules; it needs
// node-llama-cpp and @node-llama-cpp/linux-x64 (npm install --ignore-scripts).
import fs from "node:fs";
import path from "node:path";
import {createRequire} from "node:module";
import {pathToFileURL} from "node:url";

const [folder, packages = "."] = process.argv.slice(2);
const require = createRequire(path.resolve(packages, "package.json"));
let library;
try {
    library = await import(pathToFileURL(require.resolve("node-llama-cpp")).href);
} catch {
    console.log(`skipped: node-llama-cpp is not installed in ${path.resolve(packages)}`);
    process.exit(77);
}
const {getLlama, LlamaLogLevel} = library;
const llama = await getLlama({gpu: false, build: "never", logLevel: LlamaLogLevel.error});

async function compare(name) {
    const expected = JSON.parse(fs.readFileSync(path.join(folder, `${name}.json`), "utf8"));
    const model = await llama.loadModel({modelPath: path.join(folder, `${name}.gguf`), useMmap: false});
    const context = await model.createContext({
        contextSize: 64, sequences: 1, flashAttention: false, swaFullCache: true,
        experimentalKvCacheKeyType: "F32", experimentalKvCacheValueType: "F32", threads: 1});
    const sequence = context.getSequence();
    // All logits of a position, as pairs of ids and logits in descending order.
    const result = expected.ids === undefined ? [] : await sequence.controlledEvaluate(
        expected.ids.map((id) => [id, {generateNext: {logits: true, options: {temperature: 0}}}]));
    let largest = 1e-30, difference = 0;
    for (const value of expected.logits ?? []) largest = Math.max(largest, Math.abs(value));
    result.forEach((position, i) => {
        for (const [id, logit] of position.next.logits)
            difference = Math.max(difference, Math.abs(logit - expected.logits[i * expected.vocab + id]));
    });
    const relative = difference / largest;
    const ids = model.tokenize(expected.text, true);
    const sameIds = JSON.stringify([...ids]) === JSON.stringify(expected.text_ids);
    const fits = expected.ids === undefined || relative <= expected.tolerance;
    const logits = expected.ids === undefined ? "ids only" :
        `${relative.toExponential(1)} of the largest logit (at most ${expected.tolerance})`;
    console.log(`${fits && sameIds ? "ok  " : "FAIL"} ${name.padEnd(28)} ${logits}` +
        (sameIds ? "" : `: llama.cpp has the ids ${ids}, Weft ${expected.text_ids}`));
    await context.dispose();
    await model.dispose();
    return fits && sameIds;
}

let failed = 0;
for (const file of fs.readdirSync(folder).filter((f) => f.endsWith(".json")).sort()) {
    const name = file.slice(0, -".json".length);
    try {
        failed += (await compare(name)) ? 0 : 1;
    } catch (error) {
        console.log(`FAIL ${name}: ${error.message ?? error}`);
        failed += 1;
    }
}
console.log(failed === 0 ? "all models agree" : `${failed} models differ`);
process.exitCode = failed === 0 ? 0 : 1;
