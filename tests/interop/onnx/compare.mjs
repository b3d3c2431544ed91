// Runs ONNX files with ONNX Runtime and compares the outputs with those of Weft.
//
//   node compare.mjs FOLDER [PACKAGES]
//
// FOLDER contains the files of weft_onnx_cases. PACKAGES is the folder with node_modules; it needs
// onnxruntime-node (npm install onnxruntime-node). Operators for which ONNX Runtime has no kernel are
// printed as skipped.
import fs from "node:fs";
import path from "node:path";
import {createRequire} from "node:module";

const [folder, packages = "."] = process.argv.slice(2);
const require = createRequire(path.resolve(packages, "package.json"));
let ort;
try {
    ort = require("onnxruntime-node");
} catch {
    console.log(`skipped: onnxruntime-node is not installed in ${path.resolve(packages)}`);
    process.exit(77);
}

const arrays = {f32: Float32Array, f64: Float64Array, i64: BigInt64Array, i32: Int32Array, i8: Int8Array,
    u8: Uint8Array, bool: Uint8Array, f16: Uint16Array, bf16: Uint16Array};
const types = {f32: "float32", f64: "float64", i64: "int64", i32: "int32", i8: "int8", u8: "uint8", bool: "bool",
    f16: "float16"};

function read(about, data) {
    let at = 0;
    const tensors = (list) => list.map((t) => {
        const bytes = data.subarray(at, at += t.bytes);
        const values = new arrays[t.dtype](bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + t.bytes));
        return {...t, values};
    });
    return [tensors(about.inputs), tensors(about.outputs)];
}

// The largest difference relative to the largest expected number. NaNs and infinities must be equal.
function difference(actual, expected) {
    let largest = 0, worst = 0;
    for (let i = 0; i < expected.length; ++i) {
        const a = Number(actual[i]), b = Number(expected[i]);
        if (Object.is(a, b) || a === b) {
            if (Number.isFinite(b)) largest = Math.max(largest, Math.abs(b));
            continue;
        }
        if (!Number.isFinite(a) || !Number.isFinite(b)) return Infinity;
        largest = Math.max(largest, Math.abs(b));
        worst = Math.max(worst, Math.abs(a - b));
    }
    return worst === 0 ? 0 : worst / largest;
}

async function compare(name) {
    const about = JSON.parse(fs.readFileSync(path.join(folder, `${name}.json`), "utf8"));
    const [inputs, outputs] = read(about, fs.readFileSync(path.join(folder, `${name}.bin`)));
    const session = await ort.InferenceSession.create(path.join(folder, `${name}.onnx`),
        {logSeverityLevel: 3, intraOpNumThreads: 1});
    const feeds = {};
    for (const t of inputs) feeds[t.name] = new ort.Tensor(types[t.dtype], t.values, t.sizes);
    const results = await session.run(feeds);
    let worst = 0, where = "";
    for (const t of outputs) {
        const actual = results[t.name];
        if (JSON.stringify(actual.dims) !== JSON.stringify(t.sizes))
            throw new Error(`${t.name} has sizes [${actual.dims}] instead of [${t.sizes}]`);
        const error = difference(actual.data, t.values);
        if (error > worst) [worst, where] = [error, t.name];
    }
    if (worst > about.tolerance) throw new Error(`${where}: ${worst.toExponential(1)} of the largest number`);
    return worst;
}

const count = {ok: 0, skipped: 0, FAIL: 0};
for (const file of fs.readdirSync(folder).filter((f) => f.endsWith(".json")).sort()) {
    const name = file.slice(0, -".json".length);
    let result = "ok", text = "";
    try {
        text = (await compare(name)).toExponential(1);
    } catch (error) {
        text = String(error.message ?? error).replace(/\s+/g, " ");
        result = /NOT_IMPLEMENTED|Unsupported data type|Could not find an implementation/.test(text) ? "skipped" : "FAIL";
    }
    count[result] += 1;
    console.log(`${result} ${name} ${text}`);
}
console.log(`${count.ok} ok, ${count.skipped} skipped, ${count.FAIL} failed`);
process.exit(count.FAIL === 0 && count.ok > 0 ? 0 : 1);
